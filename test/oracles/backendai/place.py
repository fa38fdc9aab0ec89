# SPDX-License-Identifier: GPL-3.0-or-later
"""Backend.AI's own agent selector, made by its own selectors/pool.py with our patch ($POOL), without databases."""

import asyncio
import importlib.util
import json
import os
import statistics
import sys
import time
import uuid
from decimal import Decimal

import world
from world import CPU, GPU, MEM, Known, agent_ids, kind_of

from ai.backend.common.data.entity.resource_group import ResourceGroupID
from ai.backend.common.data.entity.resource_slot import ResourceSlotName
from ai.backend.common.types import AgentId, AgentSelectionStrategy, PreemptionOrder, SessionId
from ai.backend.manager.data.session.options import AgentSelectionPolicy
from ai.backend.manager.sokovan.scheduler.provisioner.selectors import selector as selectors
from ai.backend.manager.sokovan.scheduler.provisioner.selectors.exceptions import (
    BatchAgentSelectionFailedError,
    NoCompatibleAgentError,
)
from ai.backend.manager.sokovan.scheduler.provisioner.selectors.tracker import build_agent_trackers
from ai.backend.manager.sokovan.scheduler.provisioner.selectors.types import ResourceRequirements
from ai.backend.manager.views.sokovan.agent import (
    AgentLimit,
    AgentMeta,
    AgentResource,
    ResourceGroupResource,
    SlotResource,
)
from ai.backend.manager.views.sokovan.workload import ResourceRequest
from ocivariant_backendai import selector as ours
from ocivariant_backendai import sources
from ocivariant_backendai.decide import Decider
from ocivariant_backendai.library import Policy

NINE = agent_ids(["h100", "a100", "v100"], 9)
STRATEGIES = (AgentSelectionStrategy.DISPERSED, AgentSelectionStrategy.CONCENTRATED)
# the build that each kind of agent chooses by itself
OWN = {"h100": "cu128.sm90", "a100": "cu126.sm80", "v100": "default"}
RUNS = {"h100": list(OWN.values()), "a100": ["cu126.sm80", "default"], "v100": ["default"]}


def pool():
    """The patched module, in the place of the one that is installed."""
    name = "ai.backend.manager.sokovan.scheduler.provisioner.selectors.pool"
    spec = importlib.util.spec_from_file_location(name, os.environ["POOL"])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def make_selector(source, policy=Policy.UNPINNED):
    """As the manager makes it: with_variants finds its source by itself."""
    decider = Decider(source, policy=policy)
    class_ = ours.Decider
    sources.Database.of_environment = classmethod(lambda cls: source)
    ours.Decider = lambda found: decider
    try:
        return pool().create_agent_selector(["cuda.device", "cpu", "mem"]), decider
    finally:
        ours.Decider = class_


def agent(agent_id, gpus=8, used=0):
    slots = {GPU: (gpus, used), MEM: (1 << 40, 0), CPU: (128, 0)}
    resources = {ResourceSlotName(n): SlotResource(Decimal(c), Decimal(0), Decimal(u)) for n, (c, u) in slots.items()}
    return AgentMeta(AgentId(agent_id), "tcp://10.0.0.1:6001", "x86_64", AgentResource(resources), 0)


def criteria(count, gpus=8):
    slots = {ResourceSlotName(n): Decimal(a) for n, a in ((GPU, gpus), (MEM, 1 << 30), (CPU, 8))}
    member = ResourceRequirements(ResourceRequest(slots), "x86_64", 1)
    return selectors.AgentSelectionCriteria(
        SessionId(uuid.uuid4()), ResourceGroupID(uuid.uuid4()), [member] * count, AgentSelectionPolicy.PREFERRED,
        None, 0, None, None)


def place(selector, agents, wanted, strategy=AgentSelectionStrategy.DISPERSED, limit=None):
    """Ids of the agents that the members of a session get, or the error."""
    trackers = build_agent_trackers(ResourceGroupResource(agents))
    chosen = asyncio.run(selector.select_agents_for_batch_requirements(
        strategy, trackers, wanted, AgentLimit(limit), list(PreemptionOrder)[0]))
    return [str(c.selected_agent.agent_id) for c in chosen]


def gangs():
    """2 to 7 members on nine agents, each alone on its agent: never mixed where one build has room."""
    agents = [agent(a) for a in NINE]
    plain = selectors.AgentSelector
    for strategy in STRATEGIES:
        selector, decider = make_selector(Known(NINE))
        assert isinstance(selector, plain)
        for count in range(2, 8):
            try:
                got = place(selector, agents, criteria(count), strategy)
            except NoCompatibleAgentError as e:
                assert count > 3 and "image-variant" in str(e) and f"{count} members" in str(e), e
                continue
            assert count <= 3 and {OWN[kind_of(a)] for a in got} == {"cu128.sm90"}, (count, got)
        # a pinned image may go to any agent that runs the build; agents that choose it by
        # themselves come first
        selector, decider = make_selector(Known(NINE), Policy.HOMOGENEOUS)
        for count in range(2, 8):
            got = place(selector, agents, criteria(count), strategy)
            label, pin = next((k.decision.build.label, k.decision.pin) for k in decider._decisions.values())
            assert label == ("cu128.sm90" if count <= 3 else "cu126.sm80" if count <= 6 else "default"), (count, label)
            assert len(set(got)) == count and all(label in RUNS[kind_of(a)] for a in got), (count, got)
            assert (pin is None) == (count <= 3), (count, pin)
            own = [a for a in got if OWN[kind_of(a)] == label]
            assert len(own) == min(count, 3), got


def mixed_without():
    """The selector as it is mixes builds: what the filter is for."""
    spec = importlib.import_module("ai.backend.manager.sokovan.scheduler.provisioner.selectors.pool")
    selector = spec.create_agent_selector(["cuda.device", "cpu", "mem"])
    got = place(selector, [agent(a) for a in NINE], criteria(3))
    assert len({OWN[kind_of(a)] for a in got}) > 1, got


def singles():
    """One member: the best build that has room; another session of the pass takes what is left."""
    selector, decider = make_selector(Known(NINE))
    agents = [agent(a, used=8 if kind_of(a) == "h100" else 0) for a in NINE]
    assert kind_of(place(selector, agents, criteria(1))[0]) == "a100"
    assert kind_of(place(selector, [agent(a) for a in NINE], criteria(1))[0]) == "h100"
    trackers = build_agent_trackers(ResourceGroupResource([agent(a) for a in NINE]))
    got = []
    for _ in range(9):
        chosen = asyncio.run(selector.select_agents_for_batch_requirements(
            AgentSelectionStrategy.DISPERSED, trackers, criteria(1), AgentLimit(None), list(PreemptionOrder)[0]))
        got.append(kind_of(chosen[0].selected_agent.agent_id))
    assert got == ["h100"] * 3 + ["a100"] * 3 + ["v100"] * 3, got


def waiting():
    """All are busy: the session waits for slots, and that is no absolute failure."""
    selector, decider = make_selector(Known(NINE))
    try:
        place(selector, [agent(a, used=8) for a in NINE], criteria(2))
    except BatchAgentSelectionFailedError:
        pass
    else:
        raise AssertionError("placed")
    # one member more than could ever fit
    try:
        place(selector, [agent(a) for a in NINE], criteria(4))
    except NoCompatibleAgentError as e:
        assert "cu128.sm90: 3 of 4" in str(e), e
    else:
        raise AssertionError("placed")


def passing():
    """A gang next to another in one pass; a session whose image has no variants."""
    selector, decider = make_selector(Known(NINE))
    trackers = build_agent_trackers(ResourceGroupResource([agent(a) for a in NINE]))
    got = []
    for _ in range(3):
        chosen = asyncio.run(selector.select_agents_for_batch_requirements(
            AgentSelectionStrategy.DISPERSED, trackers, criteria(3), AgentLimit(None), list(PreemptionOrder)[0]))
        got.append({kind_of(c.selected_agent.agent_id) for c in chosen})
    assert got == [{"h100"}, {"a100"}, {"v100"}], got
    assert decider.decided == 3 and decider._source.asked == 3
    selector, decider = make_selector(Known(NINE, b""))
    assert len(place(selector, [agent(a) for a in NINE], criteria(9))) == 9


def kinds():
    """$EXPECT: a JSON object, for each kind of machine the digest that vpull gets there. Two agents of it, among others
    that run the default build only, have a session of two."""
    with open(os.environ["EXPECT"]) as file:
        expected = json.load(file)
    plain = [a for a in expected if a == "laptop"]
    for kind in expected:
        ids = agent_ids(sorted({kind, *plain}), 4)
        selector, decider = make_selector(Known(ids, reference=os.environ["REFERENCE"]))
        got = place(selector, [agent(a, 0) for a in ids], criteria(2, 0))
        decision, = (kept.decision for kept in decider._decisions.values())
        assert {kind_of(a) for a in got} == {kind}, (kind, got)
        assert decision.build.digest == expected[kind], (kind, decision)
        assert {kind_of(a) for a in place(selector, [agent(a, 0) for a in ids], criteria(1, 0))} == {kind}
    # all kinds of machines: the publisher's order of accelerators
    ids = agent_ids(list(expected), 2 * len(expected))
    selector, decider = make_selector(Known(ids, reference=os.environ["REFERENCE"]))
    got = place(selector, [agent(a, 0) for a in ids], criteria(2, 0))
    assert {kind_of(a) for a in got} == {"h100"}, got


def broken():
    """Without the library or the database the manager's selector is made as ever."""
    def fail(cls):
        raise OSError("libocivariant.so.1: cannot open shared object file")
    sources.Database.of_environment = classmethod(fail)
    selector = pool().create_agent_selector(["cuda.device", "cpu", "mem"])
    assert len(selector._exclusion_filters) == 3 and len(selector._orders) == 3
    assert len(place(selector, [agent(a) for a in NINE], criteria(9))) == 9


def speed():
    """What the filter costs on 2,000 agents beside the selector's own time, of this process's own time: the least of
    many rounds, and the median. Nothing is asserted of it."""
    ids = agent_ids(["h100", "a100", "v100"], 2000)
    for what, slots, used in (("free", 16, 0), ("half free", 16, 8), ("busy", 16, 16), ("too small", 4, 0)):
        agents = [agent(a, slots, used) for a in ids]
        selector, decider = make_selector(Known(ids))
        filter_ = selector._exclusion_filters[-1]
        for count in (1, 8, 64):
            first, later = [], []
            for _ in range(25):
                trackers = build_agent_trackers(ResourceGroupResource(agents))
                wanted = criteria(count)
                for times in (first, later):
                    start = time.thread_time()
                    filter_.filter(trackers, wanted, wanted.requirements[0])
                    times.append(time.thread_time() - start)
            print(f"2,000 {what} agents, {count:2} members: the first {said(first)}, each later one {said(later)}")
    for what, source in (("without variants", Known(ids, b"")), ("with", Known(ids))):
        whole = []
        for _ in range(3):
            selector, _ = make_selector(source)
            agents = [agent(a, 16) for a in ids]
            start = time.thread_time()
            place(selector, agents, criteria(8))
            whole.append(time.thread_time() - start)
        print(f"the whole selector, 8 members, {what}: {said(whole)}")


def said(times):
    return f"{min(times) * 1e3:.2f} ms (median {statistics.median(times) * 1e3:.2f})"


if __name__ == "__main__":
    world.run({f.__name__: f for f in (gangs, mixed_without, singles, waiting, passing, kinds, broken, speed)})
