# SPDX-License-Identifier: GPL-3.0-or-later
"""contrib/backendai's reading of the manager's database and of registries, without either. $SCRATCH: an empty
directory."""

import asyncio
import json
import os
import stat
import time

import world
from ocivariant_backendai import sources
from ocivariant_backendai.decide import Decider

sources.AGENTS_S = 0.05


class Connection:
    """Rows as PostgreSQL gives them for our queries."""

    def __init__(self, agents):
        self.plugins = {a: world.fragment(world.kind_of(a)) for a in agents}
        self.images = {}
        self.asked = 0

    def is_closed(self):
        return False

    async def fetch(self, query, *values):
        self.asked += 1
        if query == sources.CLASSES:
            return [(a, p["class"]) for a, p in self.plugins.items()]
        if query == sources.PROFILE:
            return [(json.dumps(p["profile"]),) for p in self.plugins.values() if p["class"] == values[0]][:1]
        assert query == sources.IMAGES
        return [(image,) for image in self.images.get(values[0], ())]


def open_database(connection, program="exec cat $INDEX\n"):
    path = f"{os.environ['SCRATCH']}/variantctl"
    with open(path, "w") as file:
        file.write(f'#!/bin/sh\necho "$@" >>{os.environ["SCRATCH"]}/calls\n{program}')
    os.chmod(path, stat.S_IRWXU)

    async def connect():
        return connection

    return sources.Database(connect, path)


def calls():
    try:
        with open(f"{os.environ['SCRATCH']}/calls") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


def agents():
    connection = Connection(world.agent_ids(["h100", "a100"], 4))
    database = open_database(connection)
    first = database.agents()
    assert set(first.classes) == set(connection.plugins) and len(first.profiles) == 2
    asked = connection.asked
    until(lambda: connection.asked > asked + 1)
    assert database.agents() is first  # until something changes
    connection.plugins["i-v100-0009"] = world.fragment("v100")
    del connection.plugins["i-h100-0000"]
    until(lambda: database.agents() is not first)
    until(lambda: len(database.agents().profiles) == 3)
    assert set(database.agents().classes) == set(connection.plugins)


def image():
    connection = Connection(world.agent_ids(["h100"], 2))
    database = open_database(connection)
    connection.images = {"one": ["r.example/app:1"], "again": ["r.example/app:1"], "two": ["a:1", "b:1"], "odd": [None]}
    found = database.image("one")
    with open(os.environ["INDEX"], "rb") as file:
        assert found.reference == "r.example/app:1" and found.index == file.read()
    assert database.image("again").index is found.index  # requested only once
    assert calls() == ["index show --format json -- r.example/app:1"]
    assert [database.image(s) for s in ("two", "odd", "nobody")] == [None] * 3
    # read again in the background; equal bytes keep the same object
    sources.INDEX_S, old = 0.0, sources.INDEX_S
    assert database.image("one").index is found.index
    until(lambda: len(calls()) >= 2)
    assert database.image("one").index is found.index
    sources.INDEX_S = old
    # decisions use it
    decider = Decider(database)
    members = [world.requirement() for _ in range(2)]
    gang = world.session(*members)
    gang.session_id = "one"
    trackers = [world.tracker(a) for a in world.agent_ids(["h100"], 2)]
    assert decider.decision(trackers, gang, members[0]).build.label == "cu128.sm90"


def ordinary():
    connection = Connection([])
    connection.images = {"s": ["r.example/app:1"]}
    for program in ('echo \'{"schemaVersion": 2, "config": {}}\'\n', "echo 'variantctl: refused' >&2; exit 1\n", "echo x\n"):
        assert open_database(connection, program).image("s") is None


def slow():
    """A registry that hangs costs the first session the deadline, and no placement."""
    connection = Connection([])
    connection.images = {"s": ["r.example/slow:1"]}
    database = open_database(connection, "sleep 2; exec cat $INDEX\n")
    sources.DEADLINE_S, old = 0.2, sources.DEADLINE_S
    start = time.monotonic()
    assert database.image("s") is None and time.monotonic() - start < 20
    until(lambda: database.image("s") is not None)  # without anyone waiting for it
    sources.DEADLINE_S = old
    assert len(calls()) == 1


def down():
    async def connect():
        raise OSError("no database")

    database = sources.Database(connect)
    assert database.agents().classes == {} and database.image("s") is None
    decider = Decider(database)
    members = [world.requirement()]
    assert decider.decision([world.tracker("i-h100-0000")], world.session(*members), members[0]) is None


if __name__ == "__main__":
    world.run({f.__name__: f for f in (agents, image, ordinary, slow, down)})
