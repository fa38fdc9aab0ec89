# SPDX-License-Identifier: LGPL-3.0-or-later
"""Running variantctl."""

from __future__ import annotations

import asyncio


async def output_of(*argv: str, timeout: float, limit: int) -> bytes:
    """What a command prints, `limit` bytes at most. ValueError: why it failed, by the first line of its errors."""
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        out, errors = await asyncio.wait_for(process.communicate(), timeout)
    except asyncio.TimeoutError:
        raise ValueError(f"no answer in {timeout:g} seconds") from None
    finally:  # a task that is cancelled leaves no process behind
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        first = errors.decode(errors="replace").strip().splitlines()[:1]
        raise ValueError(first[0] if first else f"status {process.returncode}")
    if len(out) > limit:
        raise ValueError(f"more than {limit} bytes")
    return out
