# SPDX-License-Identifier: GPL-3.0-or-later
"""contrib/backendai's decisions on the library as built, without Backend.AI."""

import json
import os
import weakref
from types import SimpleNamespace

import world
from ocivariant_backendai.decide import Decider, _repository, room_of
from ocivariant_backendai.library import Fleet, Index, Library, Match, OcvError, Policy, Profile
from world import Known, agent_ids, kind_of, requirement, session, tracker

with open(os.environ["INDEX"]) as _file:
    DIGESTS = {m["annotations"]["dev.ocivariant.label"]: m["digest"] for m in json.load(_file)["manifests"] if "annotations" in m}
NINE = agent_ids(["h100", "a100", "v100"], 9)


def kinds(decision, agents=NINE):
    """Kinds of agents that may host a member, by rank."""
    allowed = {kind_of(a): decision.ranks[decision.agents[a]] for a in agents if decision.agents.get(a) in decision.ranks}
    return sorted(allowed, key=lambda k: (allowed[k], k))


def decide(decider, count, trackers=None, gpus=8, **more):
    members = [requirement(gpus) for _ in range(count)]
    return decider.decision(trackers or [tracker(a) for a in NINE], session(*members, **more), members[0])


def library():
    lib = Library()
    with open(f"{world.TOP}/VERSION") as file:
        assert lib.version() == file.read().strip()
    fleet = Fleet(lib)
    for kind in ("h100", "a100", "h100"):
        said = world.fragment(kind)
        profile = Profile(lib, json.dumps(said["profile"]).encode())
        assert profile.class_name() == said["class"]
        fleet.add(profile)
    assert len(fleet.places) == 2
    with open(os.environ["INDEX"], "rb") as file:
        index = Index(lib, file.read())
    assert index.has_variants() and index.digest().startswith("sha256:")
    match = Match(fleet, index)
    assert [e.label for e in match.order(0)] == ["cu128.sm90", "cu126.sm80", "default"]
    fleet.set_room([2, 3])
    alone = match.place(Policy.UNPINNED, 3)
    assert alone.found() and alone.entry().label == "cu126.sm80" and alone.places() == [1, 1, 1]
    pinned = match.place(Policy.HOMOGENEOUS, 5)
    assert pinned.entry().label == "cu126.sm80" and sorted(pinned.places()) == [0, 0, 1, 1, 1]
    none = match.place(Policy.HOMOGENEOUS, 6)
    assert not none.found() and none.entry() is None
    assert [(k.entry.label, k.room) for k in none.lacks()][:2] == [("cu126.sm80", 5), ("default", 5)]
    fleet.add(Profile(lib, json.dumps(world.fragment("v100")["profile"]).encode()))
    match.update()
    assert [e.label for e in match.order(2)] == ["default"]


def errors():
    lib = Library()
    for make in (lambda: Profile(lib, b'{"namespaces": 1}'), lambda: Index(lib, b"[]")):
        try:
            make()
        except OcvError as e:
            assert str(e)
        else:
            raise AssertionError("taken")
    try:
        Library("/nonexistent/library.so")
    except OSError:
        pass
    else:
        raise AssertionError("loaded")


def gang():
    decider = Decider(Known(NINE))
    for count, want, label in ((2, ["h100"], "cu128.sm90"), (3, ["h100"], "cu128.sm90")):
        d = decide(decider, count)
        assert kinds(d) == want and d.build.label == label and not d.pin and not d.waits, (count, d)
    d = decide(decider, 4)
    assert not d.ranks, d
    assert d.reason.startswith("no build has agents for 4 members of cr.backend.ai/stable/pytorch:2.12.0 ("), d.reason
    assert "cu128.sm90: 3 of 4, others lack nvidia :: " in d.reason and "default: 3 of 4" in d.reason, d.reason


def pinned():
    decider = Decider(Known(NINE), policy=Policy.HOMOGENEOUS)
    d = decide(decider, 3)
    assert kinds(d) == ["h100"] and d.pin is None
    for count in (4, 6):
        d = decide(decider, count)
        assert kinds(d) == ["a100", "h100"] and d.build.label == "cu126.sm80", d  # the A100s choose it by themselves
        assert d.pin == f"cr.backend.ai/stable/pytorch@{DIGESTS['cu126.sm80']}"
    name = "cr.backend.ai:5000/stable/pytorch"
    for given in (name, f"{name}:2.12", f"{name}@sha256:{'0' * 64}", f"{name}:2.12@sha256:{'0' * 64}"):
        assert _repository(given) == name, given
    d = decide(decider, 9)
    assert kinds(d) == ["v100", "a100", "h100"] and d.build.label == "default"
    assert "10 members" in decide(decider, 10).reason


def single():
    decider = Decider(Known(NINE))
    d = decide(decider, 1)
    assert kinds(d) == ["h100", "a100", "v100"] and sorted(set(d.ranks.values())) == [0, 1, 2], d
    assert decider._source.asked == 1
    # without a build for it, the reason says what is missing
    index = json.load(open(os.environ["INDEX"]))
    index["manifests"] = [m for m in index["manifests"] if "90_real" in str(m.get("annotations"))]
    decider = Decider(Known(NINE, json.dumps(index).encode()))
    old = [tracker(a) for a in NINE if kind_of(a) == "v100"]
    d = decide(decider, 1, old)
    assert not d.ranks and "cu128.sm90: 0 of 1, others lack nvidia :: " in d.reason, d.reason
    assert kinds(decide(decider, 1)) == ["h100"]


def busy():
    decider = Decider(Known(NINE))
    trackers = [tracker(a, used=8 if kind_of(a) == "h100" else 0) for a in NINE]
    d = decide(decider, 2, trackers)
    assert kinds(d) == ["a100"] and d.build.label == "cu126.sm80" and not d.waits  # the next best has room now
    d = decide(decider, 2, [tracker(a, used=8) for a in NINE])
    assert kinds(d) == ["h100"] and d.waits  # none has room: wait for the best
    # resources taken by others in this pass, and released by those about to be preempted
    trackers = [tracker(a) for a in NINE]
    for t in trackers:
        if kind_of(t.original_agent.agent_id) == "h100":
            t.committed_slots = {world.GPU: 1}
    assert kinds(decide(decider, 2, trackers)) == ["a100"]
    for t in trackers:
        t.reclaimed_slots = {world.GPU: 1}
    assert kinds(decide(decider, 2, trackers)) == ["h100"]


def room():
    t = tracker("i-h100-0", gpus=8, used=1)
    assert room_of(t, [(world.GPU, 2)], 9) == 3
    assert room_of(t, [(world.GPU, 2)], 2) == 2
    assert room_of(t, [(world.GPU, 8)], 9) == 0
    assert room_of(t, [("atom.device", 1)], 9) == 0
    decider = Decider(Known(NINE))
    assert kinds(decide(decider, 6, gpus=4)) == ["h100"]  # two on each
    spread = SimpleNamespace(direction=SimpleNamespace(name="SPREAD"), enforcement=SimpleNamespace(name="STRICT"))
    assert not decide(decider, 6, gpus=4, group=spread).ranks
    # members that differ: the largest decides about now, the smallest about whether it can ever fit
    members = [requirement(8), requirement(1), requirement(1), requirement(1)]
    d = decider.decision([tracker(a) for a in NINE], session(*members), members[0])
    assert kinds(d) == ["h100"] and d.waits, d


def once():
    source = Known(NINE)
    decider = Decider(source)
    trackers = [tracker(a) for a in NINE]
    members = [requirement() for _ in range(3)]
    gang = session(*members)
    first = decider.decision(trackers, gang, members[0])
    for i, member in enumerate(members[1:]):
        trackers[3 * i].pending_slots = {world.GPU: 8}  # an H100 has a member now
        assert decider.decision(trackers[3 * i + 1:], gang, member) is first
    assert decider.decided == 1 and source.asked == 1
    # the next pass has its own trackers
    again = decider.decision([tracker(a, used=8 if kind_of(a) == "h100" else 0) for a in NINE], gang, members[0])
    assert decider.decided == 2 and again.build.label == "cu126.sm80"
    # another architecture means another role
    arm = requirement(architecture="aarch64")
    mixed = session(members[0], arm, arm)
    decider.decision(trackers, mixed, members[0])
    decider.decision(trackers, mixed, arm)
    assert decider.decided == 4 and decider.criteria is mixed
    # a finished pass keeps no trackers alive: the next one may reuse their ids
    alive = weakref.ref(trackers[0])
    del trackers
    assert alive() is None
    decider.decision([tracker(a) for a in NINE], mixed, arm)
    assert decider.decided == 5


def unknown():
    # no index, an ordinary one, an unreadable one: not handled here
    for index in (b"", b'{"schemaVersion":2,"manifests":[]}', b"not an index"):
        decider = Decider(Known(NINE, index))
        assert decide(decider, 2) is None and decide(decider, 2) is None
    # agents without a report get no image with variants, unless all lack one
    mixed = [*NINE, "i-silent-0009"]
    decider = Decider(Known(mixed))
    assert "i-silent-0009" not in decider.agents
    d = decide(decider, 1, [tracker(a) for a in mixed])
    assert d.agents.get("i-silent-0009") not in d.ranks and kinds(d) == ["h100", "a100", "v100"]
    assert decide(decider, 1, [tracker("i-silent-0009")]) is None
    # a profile that belongs to another class than its name
    source = Known(NINE)
    names = list(source.known.profiles)
    wrong = dict(zip(names, [*list(source.known.profiles.values())[1:], b"{"]))
    source.known = type(source.known)(source.known.classes, wrong)
    assert decide(Decider(source), 2) is None


def change():
    source = Known(NINE[:3])
    decider = Decider(source)
    two = [tracker(a) for a in agent_ids(["h100new"], 2)]
    assert decide(decider, 2, two) is None
    source.say(agent_ids(["h100new"], 2))  # drivers were upgraded
    d = decide(decider, 2, two)
    assert d.build.label == "cu130.sm90" and not d.waits, d


def recorded():
    """A heartbeat that Backend.AI's own event class wrote down and read again."""
    with open(f"{world.TOP}/test/data/backendai/heartbeat.json") as file:
        plugins = json.load(file)["compute_plugins"]
    profile = Profile(Library(), json.dumps(plugins["ocivariant"]["profile"]).encode())
    assert profile.class_name() == plugins["ocivariant"]["class"] == world.fragment("h100")["class"]


if __name__ == "__main__":
    world.run({f.__name__: f for f in
               (library, errors, gang, pinned, single, busy, room, once, unknown, change, recorded)})
