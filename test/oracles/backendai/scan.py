# SPDX-License-Identifier: GPL-3.0-or-later
"""Backend.AI's own registry scanner: what it finds in REPOSITORY of the registry HOST:PORT, a line of JSON for each image
(tag, architecture, labels).  scan.py HOST:PORT REPOSITORY"""

import asyncio
import json
import sys
import types

import aiohttp
import yarl

from ai.backend.manager.container_registry import base
from ai.backend.manager.container_registry.docker import DockerRegistry_v2


async def main(address, repository):
    registry = object.__new__(DockerRegistry_v2)
    registry.registry_name = address
    registry.registry_url = yarl.URL(f"http://{address}")
    registry.credentials = {}
    registry.base_hdrs = {"Accept": registry.MEDIA_TYPE_DOCKER_MANIFEST}
    registry.ssl_verify = False
    registry.max_concurrency_per_registry = 4
    registry.registry_info = types.SimpleNamespace(type="docker", url=f"http://{address}")
    base.all_updates.set({})
    base.concurrency_sema.set(asyncio.Semaphore(4))
    base.rescan_counts.set(base.RescanCounts())
    async with aiohttp.ClientSession() as session:
        await registry._scan_image(session, repository)
    for image, row in sorted(base.all_updates.get().items(), key=str):
        labels = row["labels"]
        print(json.dumps({"tag": image.canonical.rpartition(":")[2], "architecture": image.architecture,
                          "labels": json.loads(labels) if isinstance(labels, str) else labels}))


asyncio.run(main(*sys.argv[1:]))
