# SPDX-License-Identifier: GPL-3.0-or-later
"""contrib/backendai without the C library: the same classes, orders, placements and reasons as with it."""

import importlib.machinery
import importlib.util
import json
import random

import world
from ocivariant_backendai import library, pure
from ocivariant_backendai.library import OcvError, Policy

_loader = importlib.machinery.SourceFileLoader("random_compare", f"{world.TOP}/test/spec/random-compare")
cases = importlib.util.module_from_spec(importlib.util.spec_from_loader("random_compare", _loader))
_loader.exec_module(cases)


def placement(match, policy, count):
    """Classes that are wanted alike are interchangeable, so each member is told by what its class chooses."""
    found = match.place(policy, count)
    own = [match.order(place)[0].position for place in found.places()]
    if policy != Policy.BEST and found.entry():
        own = [position == found.entry().position for position in own]
    return found.found(), found.entry(), own, found.lacks()


def answers(rules, profiles, rooms, document):
    fleet, out = rules.fleet(), []
    try:
        for profile in profiles:
            one = rules.profile(json.dumps(profile).encode())
            out.append((one.class_name(), fleet.add(one)))
        fleet.set_room(rooms)
        index = rules.index(json.dumps(document).encode())
        match = rules.match(fleet, index)
        out += [index.has_variants(), index.digest(), [match.order(place) for place in range(len(fleet.places))]]
        out += [placement(match, policy, count) for policy in Policy for count in (1, 2, 4, 9)]
    except OcvError:
        out.append("refused")
    return out


def same():
    """300 fleets at random."""
    r, found = random.Random(11), 0
    for _ in range(300):
        profiles = [cases.profile_of(r) for _ in range(r.randint(1, 6))]
        rooms = [r.choice([0, 1, 2, 5]) for _ in profiles]
        document = cases.index_of(r, "linux/amd64")
        wanted = answers(library.Library(), profiles, rooms, document)
        assert answers(pure.Library(), profiles, rooms, document) == wanted, (profiles, rooms, document)
        found += sum(isinstance(one, tuple) and one[0] is True for one in wanted)
    assert found > 1000, found


if __name__ == "__main__":
    world.run({f.__name__: f for f in (same,)})
