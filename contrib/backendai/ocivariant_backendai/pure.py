# SPDX-License-Identifier: LGPL-3.0-or-later
"""What library.py offers, in Python: for managers without libocivariant, by the package `ocivariant` (contrib/python).

The same rules as lib/match (docs/placing.md), for gangs of one role; a hundred times slower, which a fleet of some
dozen classes does not notice.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import ocivariant

from .library import Entry, Lack, OcvError, Policy

NEAREST = 3  # entries that a placement without room names


def compare(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


def _taken(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except ocivariant.Error as e:
        raise OcvError(str(e)) from e


def _told(entry: ocivariant.Entry) -> Entry:
    return Entry(entry.position, entry.label or "default", entry.digest)


class Library:
    """As the class of this name in library.py. ImportError where the package is not installed."""

    def profile(self, document: bytes) -> Profile:
        return Profile(document)

    def index(self, document: bytes) -> Index:
        return Index(document)

    def fleet(self) -> Fleet:
        return Fleet()

    def match(self, fleet: Fleet, index: Index) -> Match:
        return Match(fleet, index)


class Profile:
    def __init__(self, document: bytes) -> None:
        self.parsed: ocivariant.Profile = _taken(lambda: ocivariant.parse_profile(document))
        self._platform = json.loads(document).get("platform") or {}  # as it is written, without what is derived

    def class_name(self) -> str:
        return hashlib.sha256(self._essence().encode()).hexdigest()[:12]

    def _essence(self) -> str:
        """The part that is resolved by, as lib/match/essence.c writes it."""
        said, platform = {key: value for key, value in self._platform.items() if value is not None}, ""
        features = self.parsed.platform.os_features
        if features or said.keys() & {"os", "architecture", "variant"}:
            words = [("os", said.get("os", "linux"))] + [(k, said[k]) for k in ("architecture", "variant") if k in said]
            platform = ",".join(f'"{key}":{_quoted(word)}' for key, word in words)
            if features:
                platform += f',"os.features":[{",".join(map(_quoted, features))}]'
            platform = f'"platform":{{{platform}}},'
        namespaces = self.parsed.namespaces
        items = ",".join(_namespace(namespaces[name]) for name in sorted(namespaces))
        return f'{{"schema":"dev.ocivariant.profile/v1",{platform}"namespaces":[{items}]}}'


def _namespace(namespace: Any) -> str:
    devices = []
    for one in namespace.devices:
        secondary = '"secondary":true,' if one.secondary else ""
        devices.append(f'{{"id":{_quoted(one.id)},"index":{one.index},{secondary}{_features(one.features)}}}')
    end = f',"devices":[{",".join(devices)}]' if devices else ""
    return f'{{"namespace":{_quoted(namespace.name)},{_features(namespace.features)}{end}}}'


def _features(features: Sequence[Any]) -> str:
    items = (f'{{"name":{_quoted(f.name)},"values":[{",".join(map(_quoted, f.values))}]}}' for f in features)
    return f'"features":[{",".join(items)}]'


def _quoted(text: str) -> str:
    return '"' + re.sub(r'[\x00-\x1f"\\]', lambda found: f"\\u{ord(found[0]):04x}", text) + '"'


class Index:
    def __init__(self, document: bytes) -> None:
        self.parsed: ocivariant.Index = _taken(lambda: ocivariant.parse_index(document))

    def has_variants(self) -> bool:
        return self.parsed.has_variants

    def digest(self) -> str:
        return self.parsed.digest

    def compare_own(self, a: ocivariant.Entry, b: ocivariant.Entry) -> int:
        """The order of the index itself: variants before the default, static namespaces, finished entries, position."""
        return (
            compare(a.kind, b.kind)
            or next(filter(None, map(compare, self._static_places(a), self._static_places(b))), 0)
            or compare(a.is_unfinished(), b.is_unfinished())
            or compare(a.position, b.position)
        )

    def _static_places(self, entry: ocivariant.Entry) -> list[int]:
        """Of the entry's best value in each feature of the static namespaces."""
        out = []
        for name in self.parsed.namespaces:
            static = self.parsed.statics.get(name)
            for feature in static.features if static else ():
                values = [p.value for p in entry.properties if (p.namespace, p.feature) == (name, feature.name)]
                out.append(min(feature.places.get(value, len(feature.values)) for value in [*values, ""]))
        return out


class Fleet:
    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.profiles: list[Profile] = []
        self.room: list[int] = []

    def add(self, profile: Profile) -> int:
        name = profile.class_name()
        if name not in self.places:
            self.places[name] = len(self.profiles)
            self.profiles.append(profile)
            self.room.append(0)
        return self.places[name]

    def set_room(self, room: Sequence[int]) -> None:
        self.room = [room[place] if place < len(room) else 0 for place in range(len(self.profiles))]


class Match:
    def __init__(self, fleet: Fleet, index: Index) -> None:
        self.fleet, self.index = fleet, index
        self.decisions: list[ocivariant.Decision] = []
        self.ranks: list[dict[int, int]] = []  # by class: position of an entry to its place in the order
        self.rejections: list[dict[int, ocivariant.Rejection]] = []
        self.update()

    def update(self) -> None:
        for profile in self.fleet.profiles[len(self.decisions) :]:
            self._decide(profile)

    def _decide(self, profile: Profile) -> None:
        decision = _taken(lambda: ocivariant.resolve(self.index.parsed, profile.parsed))
        self.decisions.append(decision)
        self.ranks.append({entry.position: rank for rank, entry in enumerate(decision.order)})
        self.rejections.append({one.entry.position: one for one in decision.rejected})

    def order(self, place: int) -> list[Entry]:
        return [_told(entry) for entry in self.decisions[place].order]

    def place(self, policy: Policy, count: int) -> Placement:
        return Placement(self, policy, count)

    def candidates(self, policy: Policy) -> dict[int, int]:
        """Position of each entry that classes with room could take, best first, and the members that it has room for."""
        room = self.fleet.room
        entries = self.index.parsed.entries
        rooms = {e.position: sum(room[k] for k in self.classes_of(e.position, policy)) for e in entries}
        rooms = {position: n for position, n in rooms.items() if n}
        before, waiting = self._before(list(rooms)), sum(1 << e for e in rooms)
        own = sorted((entries[e] for e in rooms), key=functools.cmp_to_key(self.index.compare_own))
        left = {e.position: None for e in own}  # a set that has an order
        order: list[int] = []
        while left:  # of those that nothing has to precede, the first in the index's own order
            first = next(e for e in left if not before[e] & waiting)
            del left[first]
            order.append(first)
            waiting &= ~(1 << first)
        return {e: rooms[e] for e in order}

    def classes_of(self, position: int, policy: Policy) -> list[int]:
        """Classes that run the entry; of Policy.UNPINNED those that choose it."""
        worst = 0 if policy == Policy.UNPINNED else len(self.index.parsed.entries)
        return [k for k, ranks in enumerate(self.ranks) if ranks.get(position, worst + 1) <= worst]

    def _before(self, positions: list[int]) -> dict[int, int]:
        """What has to come before each entry, as bits: as the classes with room prefer where they agree, and what
        follows."""
        before, after = dict.fromkeys(positions, 0), dict.fromkeys(positions, 0)
        ranked = [[e for e in ranks if e in after] for k, ranks in enumerate(self.ranks) if self.fleet.room[k]]
        for order in ranked:
            for told, entries in ((before, order), (after, order[::-1])):
                bits = 0
                for e in entries:
                    told[e] |= bits
                    bits |= 1 << e
        agreed = {e: before[e] & ~after[e] for e in positions}
        for via in positions if any(set(order) != set(ranked[0]) for order in ranked) else ():  # else it is in it
            bit, more = 1 << via, agreed[via]
            for e in positions if more else ():
                if agreed[e] & bit:
                    agreed[e] |= more
        rings = {e: sum(1 << k for k in positions if agreed[e] >> k & agreed[k] >> e & 1)
                 for e in positions if agreed[e] >> e & 1}  # in a circle nothing comes first
        return {e: agreed[e] & ~rings.get(e, 0) for e in positions}


class Placement:
    def __init__(self, match: Match, policy: Policy, count: int) -> None:
        self._match, self._policy, self._count = match, policy, count
        self._candidates = match.candidates(policy)
        self._entry: int | None = None  # position
        if policy != Policy.BEST:
            self._entry = next((e for e, room in self._candidates.items() if room >= count), None)

    def found(self) -> bool:
        room = self._match.fleet.room
        any_room = sum(room[k] for k, ranks in enumerate(self._match.ranks) if ranks)
        return any_room >= self._count if self._policy == Policy.BEST else self._entry is not None

    def entry(self) -> Entry | None:
        return None if self._entry is None else _told(self._match.index.parsed.entries[self._entry])

    def places(self) -> list[int]:
        if not self.found():
            return []
        match, order = self._match, list(self._candidates)
        own = [decision.order[0].position if decision.order else -1 for decision in match.decisions]
        wishes = {}  # of classes that could take a member: 0 is wanted most
        for k, room in enumerate(match.fleet.room):
            if room and self._policy == Policy.BEST and own[k] >= 0:
                wishes[k] = order.index(own[k])
            elif room and self._entry in match.ranks[k]:
                if self._policy == Policy.HOMOGENEOUS or own[k] == self._entry:
                    wishes[k] = int(own[k] != self._entry)
        out: list[int] = []
        for k in sorted(wishes, key=lambda k: wishes[k]):
            out += [k] * min(match.fleet.room[k], self._count - len(out))
        return out

    def lacks(self) -> list[Lack]:
        if self.found():
            return []
        match, fitting = self._match, list(self._candidates)
        near = []
        for entry in match.index.parsed.entries:
            if not entry.code:
                e = entry.position
                order = fitting.index(e) if e in fitting else len(fitting) + e
                room = sum(match.fleet.room[k] for k in match.classes_of(e, self._policy))
                near.append((-room, order, entry))
        near.sort(key=lambda one: one[:2])
        lacks = [Lack(_told(entry), -room, self._cost_of(entry.position)) for room, _, entry in near[:NEAREST]]
        return lacks or [Lack(None, 0, None)]

    def _cost_of(self, position: int) -> str | None:
        """The feature that rules out most classes with room; None where that is no feature."""
        costs: dict[tuple[str, str], int] = {}  # property, or code of what is about none
        rejections = self._match.rejections
        for k, room in enumerate(self._match.fleet.room):
            why = rejections[k].get(position) if room else None
            if why:
                cause = (why.property, "" if why.property else why.code)
                costs[cause] = costs.get(cause, 0) + 1
        return (max(costs, key=lambda cause: costs[cause])[0] or None) if costs else None
