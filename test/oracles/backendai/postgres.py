# SPDX-License-Identifier: GPL-3.0-or-later
"""contrib/backendai on a real PostgreSQL (OCIVARIANT_DATABASE), in tables made of Backend.AI's own models, filled as its
manager fills them from heartbeats."""

import asyncio
import os
import uuid

import world
from sqlalchemy.dialects import postgresql

from ai.backend.manager.models.agent.row import AgentRow
from ai.backend.manager.models.kernel.row import KernelRow
from ocivariant_backendai import sources
from ocivariant_backendai.decide import Decider

REFERENCE = "cr.backend.ai/stable/pytorch:2.12.0"
NINE = world.agent_ids(["h100", "a100", "v100"], 9)


def table(row, columns):
    """CREATE TABLE of the columns that we read, with the types that the model has."""
    model = row.__table__.c
    types = ", ".join(f"{model[c].name} {model[c].type.compile(postgresql.dialect())}" for c in columns)
    return f"CREATE TABLE {row.__tablename__} ({types})"


async def fill(session):
    import asyncpg

    connection = await asyncpg.connect(os.environ["OCIVARIANT_DATABASE"])
    await connection.execute(table(AgentRow, ("id", "compute_plugins")))
    await connection.execute(table(KernelRow, ("session_id", "image")))
    for agent in [*NINE, "i-silent-0009"]:
        plugins = {"cpu": {"version": "26.9.6"}}
        if "silent" not in agent:
            plugins["ocivariant"] = world.fragment(world.kind_of(agent))
        await connection.execute("INSERT INTO agents VALUES ($1, $2)", agent, world.json.dumps(plugins))
    for _ in range(2):
        await connection.execute("INSERT INTO kernels VALUES ($1, $2)", session, REFERENCE)
    await connection.close()


session_id = uuid.uuid4()
asyncio.run(fill(session_id))
database = sources.Database.of_environment()
found = database.image(session_id)
assert found is not None and found.reference == REFERENCE
assert database.image(uuid.uuid4()) is None
agents = database.agents()
assert sorted(agents.classes) == sorted(NINE) and len(agents.profiles) == 3, agents.classes
decider = Decider(database)
members = [world.requirement() for _ in range(2)]
gang = world.session(*members)
gang.session_id = session_id
decision = decider.decision([world.tracker(a) for a in NINE], gang, members[0])
assert decision.build.label == "cu128.sm90", decision
