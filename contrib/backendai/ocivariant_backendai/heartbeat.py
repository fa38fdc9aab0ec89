# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a heartbeat says of a node: `variantctl export backendai`, asked again from time to time.

A program of its own, so that a driver's library that crashes or hangs costs its answer, not the agent. It asks
variantd, where one runs on the node.
"""

from __future__ import annotations

import json
import logging
import os
import time
from typing import Any

from .command import output_of

log = logging.getLogger(__name__)

KEY = "ocivariant"
COMMAND = "variantctl"
INTERVAL_S = 60.0  # heartbeats come every few seconds
TIMEOUT_S = 20.0
ANSWER_MAX = 4 * 1024 * 1024


class Fragment:
    """What compute_plugins has of the node. Where it cannot be learnt, `error` says why and the last profile stays."""

    def __init__(self, command: str | None = None, interval: float = INTERVAL_S, timeout: float = TIMEOUT_S) -> None:
        self._command = command or os.environ.get("OCIVARIANT_VARIANTCTL") or COMMAND
        self._interval, self._timeout = interval, timeout
        self._asked: float | None = None
        self._kept: dict[str, Any] = {}

    async def get(self) -> dict[str, Any]:
        now = time.monotonic()
        if self._asked is None or now - self._asked >= self._interval:
            self._asked = now
            try:
                out = await output_of(
                    self._command, "export", "backendai", timeout=self._timeout, limit=ANSWER_MAX
                )
                self._kept = _read(out)
            except (OSError, ValueError) as e:
                error = str(e) or type(e).__name__
                if self._kept.get("error") != error:
                    log.warning("%s export backendai: %s", self._command, error)
                self._kept = {**self._kept, "error": error}
        return dict(self._kept)


def _read(out: bytes) -> dict[str, Any]:
    document = json.loads(out)
    fragment = document.get(KEY) if isinstance(document, dict) else None
    if not isinstance(fragment, dict) or not isinstance(fragment.get("profile"), dict):
        raise ValueError(f"no '{KEY}' with a profile in it")
    return fragment
