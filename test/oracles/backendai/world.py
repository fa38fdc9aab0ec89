# SPDX-License-Identifier: GPL-3.0-or-later
"""Agents and sessions for the tests of contrib/backendai. $NODES has KIND.json, what `variantctl export backendai`
prints for a machine of that kind; $INDEX is an index document."""

import json
import os
import sys
from decimal import Decimal
from types import SimpleNamespace

TOP = os.environ["OCV_TOP"]
sys.path.insert(0, f"{TOP}/contrib/backendai")

from ocivariant_backendai.decide import Agents, Image  # noqa: E402

REFERENCE = "cr.backend.ai/stable/pytorch:2.12.0"
GPU, MEM, CPU = "cuda.device", "mem", "cpu"


def kind_of(agent_id):
    return str(agent_id).split("-")[1]


def agent_ids(kinds, count):
    """i-KIND-NNNN, one kind after the other."""
    return [f"i-{kinds[i % len(kinds)]}-{i:04d}" for i in range(count)]


def fragment(kind):
    with open(f"{os.environ['NODES']}/{kind}.json") as file:
        return json.load(file)["ocivariant"]


class Known:
    """A source of agents and of one image for every session."""

    def __init__(self, agents, index=None, reference=REFERENCE):
        self.asked = 0
        if index is None:
            with open(os.environ["INDEX"], "rb") as file:
                index = file.read()
        self.known_image = Image(reference, index) if index else None
        self.say(agents)

    def say(self, agents):
        said = {kind: fragment(kind) for kind in {kind_of(a) for a in agents} if kind != "silent"}
        self.known = Agents({a: said[kind_of(a)]["class"] for a in agents if kind_of(a) in said},
                            {f["class"]: json.dumps(f["profile"]).encode() for f in said.values()})

    def agents(self):
        return self.known

    def image(self, session_id):
        self.asked += 1
        return self.known_image


class Tracker(SimpleNamespace):
    """A class of its own, since AgentStateTracker has weak references."""


def tracker(agent_id, gpus=8, used=0, capacity=None):
    """As AgentStateTracker, of an agent with GPUs, of which some are in use."""
    def slot(total, taken=0):
        return SimpleNamespace(capacity=Decimal(total), reserved=Decimal(0), used=Decimal(taken))
    slots = {GPU: slot(gpus, used), MEM: slot(1 << 40), CPU: slot(128)}
    agent = SimpleNamespace(agent_id=agent_id, resources=SimpleNamespace(slots=slots))
    return Tracker(original_agent=agent, committed_slots={}, pending_slots={}, reclaimed_slots={})


def requirement(gpus=8, architecture="x86_64"):
    slots = {GPU: Decimal(gpus), MEM: Decimal(1 << 30), CPU: Decimal(8)}
    return SimpleNamespace(requested_slots=SimpleNamespace(slots=slots), required_architecture=architecture,
                           container_count=1)


def session(*requirements, group=None):
    return SimpleNamespace(session_id="s", requirements=list(requirements), session_group=group)


def run(cases):
    """The case that the command line names, or their list."""
    if len(sys.argv) < 2:
        print("\n".join(cases))
    else:
        cases[sys.argv[1]]()
