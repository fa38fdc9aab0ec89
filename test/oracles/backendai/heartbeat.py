# SPDX-License-Identifier: GPL-3.0-or-later
"""Backend.AI's own agent: finds the plug-in by its entry point, loads it, and takes the node's profile into its
heartbeat, which the manager keeps. $VARIANTCTL: the program, $NODE: the kind of this node. heartbeat.py FILE writes what
the agent said."""

import asyncio
import json
import os
import sys
from types import SimpleNamespace

os.environ["DOCKER_HOST"] = "unix:///nowhere"  # its own plug-ins need a value

import world

from ai.backend.agent import agent as agents
from ai.backend.agent.docker.resources import load_resources, scan_available_resources
from ai.backend.common.data.agent.types import AgentInfo
from ai.backend.common.events.event_types.agent.anycast import AgentHeartbeatEvent


class Address:
    host = "10.0.0.17"

    def __str__(self):
        return "10.0.0.17:6001"


class Etcd:
    """Settings of plug-ins, as an administrator puts them there."""

    async def get_prefix(self, prefix):
        return {"variantctl": os.environ["VARIANTCTL"]} if "ocivariant" in prefix else {}


async def beat(computers):
    """One heartbeat of the agent's own code: the event that it sends."""
    sent = []

    async def send(event):
        sent.append(event)

    async def nothing(**more):
        pass

    local = SimpleNamespace(agent=SimpleNamespace(region="local", initial_resource_group_name="default",
                                                  force_terminate_abusing_containers=False))
    agent = SimpleNamespace(
        computers=computers, slots={}, rpc_addr=Address(), local_config=local, agent_public_key=None, id="i-h100-0001",
        _get_public_host=lambda: "10.0.0.17", anycast_event=send, images={},
        valkey_image_client=SimpleNamespace(add_agent_installed_images=nothing))
    await agents.AbstractAgent.heartbeat(agent)
    assert len(sent) == 1, "the agent's heartbeat failed"
    return sent[0]


async def main():
    config = {"agent": {"allow-compute-plugins": None, "block-compute-plugins": set()}}
    found = await load_resources(Etcd(), config)
    assert "ocivariant" in found and "cpu" in found and "mem" in found, sorted(found)
    plugin = found["ocivariant"]
    slots = await scan_available_resources({"ocivariant": plugin})
    assert slots == {} and await plugin.list_devices() == []
    allocated = await plugin.create_alloc_map()
    assert not allocated.device_slots
    computers = {"ocivariant": SimpleNamespace(instance=plugin, devices=[], alloc_map=allocated)}
    first, second = await beat(computers), await beat(computers)
    # serialised and parsed again
    wire = first.model_dump_json()
    plugins = AgentHeartbeatEvent.model_validate_json(wire).agent_info.compute_plugins
    want = world.fragment(os.environ["NODE"])
    assert plugins["ocivariant"] == want, plugins
    # the manager updates its rows whenever the plug-ins' report differs
    assert first.agent_info.compute_plugins == second.agent_info.compute_plugins
    assert json.loads(json.dumps(plugins)) == plugins  # as stored in JSONB
    if len(sys.argv) > 1:
        info = AgentInfo.model_validate_json(first.agent_info.model_dump_json())
        with open(sys.argv[1], "w") as file:
            file.write(info.model_dump_json(indent=1) + "\n")
    print(len(wire), "bytes")


asyncio.run(main())
