# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the selector's filter needs to know: agents and images of sessions, from the manager's database, and indexes,
from `variantctl index show`, which has the settings for registries.

A filter is asked in the middle of a scheduling pass and cannot wait, so a thread with an event loop of its own reads
ahead: what agents say, and the indexes of the images that it was asked for. Only the first session of an image waits,
for DEADLINE_S at most. What is not known then is left alone: Backend.AI places the session as it always did.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from .command import output_of
from .decide import Agents, Image

log = logging.getLogger(__name__)

AGENTS_S = 5.0  # maximum age of the agents' reports
INDEX_S = 60.0  # age at which an index is read again, in the background
DEADLINE_S = 2.0  # for a session
COMMAND_S = 30.0  # for variantctl
INDEX_MAX = 4 * 1024 * 1024
IMAGES_MAX = 4096  # names of images that are cached

CLASSES = "SELECT id, compute_plugins->'ocivariant'->>'class' FROM agents WHERE compute_plugins->'ocivariant' ? 'class'"
PROFILE = """SELECT (compute_plugins->'ocivariant'->'profile')::text FROM agents
    WHERE compute_plugins->'ocivariant'->>'class' = $1 LIMIT 1"""
IMAGES = "SELECT DISTINCT image FROM kernels WHERE session_id = $1"


@dataclass
class Known:
    """An index, None for an image without one, and when it was read."""

    index: bytes | None
    at: float


async def read_index(command: str, reference: str) -> bytes | None:
    """The index of a name; None where it has none. ValueError: why it cannot be read."""
    out = await output_of(
        command, "index", "show", "--format", "json", "--", reference, timeout=COMMAND_S, limit=INDEX_MAX
    )
    return out if "manifests" in json.loads(out) else None


class Database:
    """A source (decide.Source). `connect` opens a connection of asyncpg."""

    def __init__(self, connect: Callable[[], Awaitable[Any]], command: str = "variantctl") -> None:
        self._connect, self._command = connect, command
        self._connection: Any = None
        self._agents = Agents()
        self._images: dict[str, Known] = {}
        self._reading: dict[str, asyncio.Task[None]] = {}
        self._failure = ""
        self._using = asyncio.Lock()
        self._loop = asyncio.new_event_loop()
        self._first = threading.Event()
        threading.Thread(target=self._run, name="ocivariant", daemon=True).start()

    @classmethod
    def of_environment(cls) -> Database:
        """OCIVARIANT_DATABASE, or what libpq's variables say (PGHOST, PGUSER, PGPASSFILE...)."""
        import asyncpg  # the manager has this package

        address = os.environ.get("OCIVARIANT_DATABASE")
        return cls(
            lambda: asyncpg.connect(address, timeout=DEADLINE_S, command_timeout=DEADLINE_S),
            os.environ.get("OCIVARIANT_VARIANTCTL") or "variantctl",
        )

    # ---- decide.Source ----

    def agents(self) -> Agents:
        self._first.wait(DEADLINE_S)
        return self._agents

    def image(self, session_id: object) -> Image | None:
        asked = asyncio.run_coroutine_threadsafe(self._image(session_id), self._loop)
        try:
            return asked.result(DEADLINE_S)
        except Exception as e:  # sessions are placed whatever fails in the database
            asked.cancel()
            log.warning("session %s: its image is not known: %s", session_id, str(e) or type(e).__name__)
            return None

    # ---- the thread ----

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._follow_agents())

    async def _fetch(self, query: str, *values: object) -> list[Any]:
        async with self._using:
            if self._connection is None or self._connection.is_closed():
                self._connection = await self._connect()
            return await self._connection.fetch(query, *values)  # type: ignore[no-any-return]

    async def _follow_agents(self) -> None:
        while True:
            try:
                await self._read_agents()
                self._failure = ""
            except Exception as e:
                if str(e) != self._failure:
                    log.warning("what agents say cannot be read: %s; trying on", str(e) or type(e).__name__)
                self._failure = str(e)
            self._first.set()
            await asyncio.sleep(AGENTS_S)

    async def _read_agents(self) -> None:
        classes = {agent: name for agent, name in await self._fetch(CLASSES)}
        if classes == self._agents.classes:
            return
        profiles = {name: document for name, document in self._agents.profiles.items() if name in classes.values()}
        for name in set(classes.values()) - set(profiles):
            for (document,) in await self._fetch(PROFILE, name):
                if document:
                    profiles[name] = document.encode()
        self._agents = Agents(classes, profiles)

    async def _image(self, session_id: object) -> Image | None:
        rows = await self._fetch(IMAGES, session_id)
        if len(rows) != 1 or not rows[0][0]:
            return None  # none, or kernels of several images
        reference = rows[0][0]
        known = self._images.get(reference)
        if known is None:
            await asyncio.shield(self._start_reading(reference))  # reading goes on if this times out
            known = self._images[reference]
        elif time.monotonic() - known.at > INDEX_S:
            self._start_reading(reference)
        return Image(reference, known.index) if known.index else None

    def _start_reading(self, reference: str) -> asyncio.Task[None]:
        """Once at a time."""
        if reference not in self._reading:
            task = self._reading[reference] = asyncio.ensure_future(self._read(reference))
            task.add_done_callback(lambda _: self._reading.pop(reference))
        return self._reading[reference]

    async def _read(self, reference: str) -> None:
        old = self._images.get(reference)
        try:
            index = await read_index(self._command, reference)
        except (OSError, ValueError) as e:
            log.warning("%s: %s", reference, e)
            index = old.index if old else None
        if old is None:
            while len(self._images) >= IMAGES_MAX:
                self._images.pop(next(iter(self._images)))
        elif index == old.index:
            index = old.index  # the same object, by which cached matches are found
        self._images[reference] = Known(index, time.monotonic())
