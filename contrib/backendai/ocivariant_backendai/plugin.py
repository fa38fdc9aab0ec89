# SPDX-License-Identifier: LGPL-3.0-or-later
"""The agent's part: a compute plug-in without slots and devices, whose extra information is the node's profile."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ai.backend.agent.alloc_map import DiscretePropertyAllocMap
from ai.backend.agent.resources import AbstractComputePlugin
from ai.backend.common.types import DeviceName

from .heartbeat import KEY, Fragment


class VariantPlugin(AbstractComputePlugin):
    key = DeviceName(KEY)
    slot_types: Sequence[Any] = ()
    exclusive_slot_types: set[str] = set()
    config_watch_enabled = False

    def __init__(self, plugin_config: Mapping[str, Any], local_config: Mapping[str, Any]) -> None:
        super().__init__(plugin_config, local_config)
        self._fragment = Fragment(plugin_config.get("variantctl"))
        self._busy = asyncio.Lock()

    async def init(self, context: Any = None) -> None:
        await self.extra_info()  # so that the first heartbeat is not delayed

    async def cleanup(self) -> None:
        pass

    async def update_plugin_config(self, plugin_config: Mapping[str, Any]) -> None:
        self._fragment = Fragment(plugin_config.get("variantctl"))

    def get_version(self) -> str:
        try:
            return version("ocivariant-backendai")
        except PackageNotFoundError:  # not installed, but found through PYTHONPATH
            return "unknown"

    async def extra_info(self) -> Mapping[str, Any]:
        async with self._busy:
            return await self._fragment.get()

    def get_metadata(self) -> Any:
        return {
            "slot_name": KEY,
            "description": "What the node supports of images with variants",
            "human_readable_name": "Image variants",
            "display_unit": "",
            "number_format": {"binary": False, "round_length": 0},
            "display_icon": "",
        }

    # ---- no devices, no slots ----

    async def list_devices(self) -> Collection[Any]:
        return []

    async def available_slots(self) -> Mapping[Any, Decimal]:
        return {}

    async def create_alloc_map(self) -> Any:
        return DiscretePropertyAllocMap(device_slots={})

    async def gather_node_measures(self, ctx: Any) -> Sequence[Any]:
        return []

    async def gather_container_measures(self, ctx: Any, container_ids: Sequence[str]) -> Sequence[Any]:
        return []

    async def gather_process_measures(self, ctx: Any, pid_map: Mapping[int, str]) -> Sequence[Any]:
        return []

    async def get_hooks(self, distro: str, arch: str) -> Sequence[Path]:
        return []

    async def generate_docker_args(self, docker: Any, device_alloc: Any) -> Mapping[str, Any]:
        return {}

    async def restore_from_container(self, container: Any, alloc_map: Any) -> None:
        pass

    async def get_attached_devices(self, device_alloc: Any) -> Sequence[Any]:
        return []

    async def get_docker_networks(self, device_alloc: Any) -> list[str]:
        return []

    async def generate_mounts(self, source_path: Path, device_alloc: Any) -> list[Any]:
        return []
