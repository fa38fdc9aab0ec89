# SPDX-License-Identifier: LGPL-3.0-or-later
"""Which agents may host the members of a session, so that all get one build of its image.

Knows nothing of Backend.AI but the shape of what its selector hands over: trackers of agents, criteria of a session
(ai.backend.manager.sokovan.scheduler.provisioner.selectors, 26.9).
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .library import Entry, Library, Match, OcvError, Policy

log = logging.getLogger(__name__)

MATCHES_MAX = 256  # indexes whose matches are cached
MATCHES_BYTES = 32 << 20  # of these indexes


@dataclass(frozen=True)
class Agents:
    """What agents say of their nodes."""

    classes: Mapping[str, str] = field(default_factory=dict)  # agent id: class
    profiles: Mapping[str, bytes] = field(default_factory=dict)  # class: profile, as JSON


@dataclass(frozen=True)
class Image:
    """The image of a session: its name, and the bytes of its index."""

    reference: str
    index: bytes


class Source(Protocol):
    """Where agents and images are known from."""

    def agents(self) -> Agents:
        """The same object until something changed."""

    def image(self, session_id: object) -> Image | None:
        """None: not known, or without variants. Any agent may have the session then."""


@dataclass(frozen=True)
class Decision:
    """What was decided for the members of a session that share an architecture."""

    agents: Mapping[str, int]  # agent id: number of its class
    ranks: Mapping[int, int]  # number of a class: preference, lower first; other classes may not host a member
    build: Entry | None = None  # for all members
    pin: str | None = None  # the image by digest, if some agents would choose another build by themselves
    waits: bool = False  # it has room only after agents are freed
    reason: str = ""  # why ranks is empty


class _Kept:
    """A decision, and the trackers that it was made of. They are made anew for every pass, and what later members are
    offered is a part of the first one's; they die together, which is not waited for here: it takes as long as a
    decision. Ids are of the trackers as long as one of them is alive."""

    def __init__(self, trackers: Sequence[Any], decision: Decision | None) -> None:
        self.decision = decision
        self._alive = weakref.ref(trackers[0]) if trackers else _dead
        self._ids = frozenset(map(id, trackers))

    def concerns(self, trackers: Sequence[Any]) -> bool:
        return self._alive() is not None and id(trackers[0]) in self._ids


def _dead() -> None:
    return None


def room_of(tracker: Any, wanted: Sequence[tuple[Any, Any]], most: int, ever: bool = False) -> int:
    """Members that an agent has room for, at most `most`: now, as the tracker's remaining_slots() counts, or `ever`,
    when nothing else runs there. (Not remaining_slots itself: it takes ten times as long.)"""
    slots = tracker.original_agent.resources.slots
    room = most
    for name, amount in wanted:
        slot = slots.get(name)
        if slot is None:
            return 0
        free = slot.capacity - slot.reserved
        if not ever:
            free -= slot.used
            if free < amount and not tracker.reclaimed_slots:
                return 0
            for taken in (tracker.committed_slots, tracker.pending_slots):
                if taken:
                    free -= taken.get(name, 0)
            if tracker.reclaimed_slots:
                free += tracker.reclaimed_slots.get(name, 0)
        if free < amount:
            return 0
        if room > 1:
            room = min(room, int(free // amount))
    return room


def rules() -> Any:
    """The C library, or where it is not installed the same rules in Python."""
    try:
        return Library()
    except OSError as absent:
        try:
            from . import pure
        except ImportError:
            raise absent from None
        log.warning("%s: the Python package ocivariant is used instead", absent)
        return pure.Library()


class Decider:
    """Decides for one session after the other. `policy` UNPINNED (agents pull the name that the user gave, so a build
    is for agents that take it by themselves) or HOMOGENEOUS (for who pins the image: Decision.pin)."""

    def __init__(self, source: Source, library: Any = None, policy: Policy = Policy.UNPINNED) -> None:
        self._source, self._policy = source, policy
        self._library = library or rules()
        self._fleet = self._library.fleet()
        self._seen: Agents | None = None
        self._matches: dict[bytes, Match | None] = {}
        self._tiers: dict[Match, tuple[int, dict[int, int]]] = {}  # number of classes, and their ranks
        self._decisions: dict[str, _Kept] = {}
        self.criteria: object = None  # criteria of the last decision
        self.agents: dict[str, int] = {}  # agent id: number of its class
        self.ranks: dict[int, int] = {}  # by number of the class, from all decisions for the criteria
        self.decided = 0  # decisions made

    # ---- what is known ----

    def _follow(self) -> None:
        """Take in what agents say since."""
        now = self._source.agents()
        if now is self._seen:
            return
        places: dict[str, int] = {}
        for name, document in now.profiles.items():
            try:
                profile = self._library.profile(document)
                if profile.class_name() != name:
                    raise OcvError(f"it is of class {profile.class_name()}")
                places[name] = self._fleet.add(profile)
            except OcvError as e:
                log.warning("the profile of class %s: %s", name, e)
        self.agents = {agent: places[name] for agent, name in now.classes.items() if name in places}
        self._seen = now

    def _match(self, image: Image) -> Match | None:
        """None: an image without variants, which any agent may have."""
        if image.index not in self._matches:
            size = len(image.index)
            while self._matches and (
                len(self._matches) >= MATCHES_MAX or sum(map(len, self._matches)) + size > MATCHES_BYTES
            ):
                old = self._matches.pop(next(iter(self._matches)))
                if old is not None:
                    self._tiers.pop(old, None)
            self._matches[image.index] = None  # also if it cannot be read
            index = self._library.index(image.index)
            if index.has_variants():
                self._matches[image.index] = self._library.match(self._fleet, index)
        match = self._matches[image.index]
        if match is not None:
            match.update()
        return match

    # ---- sessions ----

    def decision(self, trackers: Sequence[Any], criteria: Any, requirement: Any) -> Decision | None:
        """The decision for a member: made for the first one of a session, and kept for the others. None: not ours."""
        if criteria is not self.criteria:
            self.criteria, self._decisions, self.ranks = criteria, {}, {}
        architecture = requirement.required_architecture
        kept = self._decisions.get(architecture)
        if kept and trackers and kept.concerns(trackers):
            return kept.decision
        members = [r for r in criteria.requirements if r.required_architecture == architecture]
        decision = None
        try:
            decision = self._decide(trackers, criteria, members)
        except OcvError as e:
            log.warning("session %s: %s", criteria.session_id, e)
        self._decisions[architecture] = _Kept(trackers, decision)
        self.ranks.update(decision.ranks if decision else {})
        self.decided += 1
        return decision

    def _decide(self, trackers: Sequence[Any], criteria: Any, members: Sequence[Any]) -> Decision | None:
        image = self._source.image(criteria.session_id)
        if image is None:
            return None
        self._follow()
        match = self._match(image)
        if match is None:
            return None
        if not any(t.original_agent.agent_id in self.agents for t in trackers):
            log.warning("session %s: no agent says what its node supports", criteria.session_id)
            return None
        if len(members) == 1:
            return self._decide_one(match, image, trackers)
        most = 1 if _spreads(criteria) else len(members)
        return self._decide_gang(match, image, trackers, members, most)

    def _decide_one(self, match: Match, image: Image, trackers: Sequence[Any]) -> Decision:
        """Every agent that runs the image, those with the best build first."""
        ranks = self._all_tiers(match)
        there = {self.agents.get(t.original_agent.agent_id) for t in trackers}
        if not there.isdisjoint(ranks):
            return Decision(self.agents, ranks)
        match.fleet.set_room([int(place in there) for place in range(len(match.fleet.places))])
        return Decision(self.agents, {}, reason=self._reason(match, image, 1, Policy.HOMOGENEOUS))

    def _all_tiers(self, match: Match) -> dict[int, int]:
        """Classes by how good the build is that they take; those that run none are not there."""
        classes = len(match.fleet.places)
        kept = self._tiers.get(match)
        if kept is None or kept[0] != classes:
            fits = [int(bool(match.order(place))) for place in range(classes)]
            match.fleet.set_room(fits)
            tiers: dict[int, int] = {}
            ranks = {}
            for place in match.place(Policy.BEST, sum(fits)).places() if any(fits) else []:
                ranks[place] = tiers.setdefault(match.order(place)[0].position, len(tiers))
            kept = self._tiers[match] = (classes, ranks)
        return kept[1]

    def _decide_gang(
        self, match: Match, image: Image, trackers: Sequence[Any], members: Sequence[Any], most: int
    ) -> Decision:
        """One build for all: the best that has room now, else the best that has it once agents are free."""
        count = len(members)
        for ever, choose in ((False, max), (True, min)):
            match.fleet.set_room(self._rooms(trackers, _wanted(members, choose), count, most, ever))
            placement = match.place(self._policy, count)
            entry = placement.entry() if placement.found() else None
            if entry is not None:
                return self._one_build(match, image, entry, waits=ever)
        return Decision(self.agents, {}, reason=self._reason(match, image, count, self._policy))

    def _rooms(
        self, trackers: Sequence[Any], wanted: list[tuple[Any, Any]], count: int, most: int, ever: bool
    ) -> list[int]:
        """Members that each class has room for; not counted any further than to `count`."""
        rooms = [0] * len(self._fleet.places)
        agents, wanting = self.agents, len(rooms)
        scarce, least = wanted[0] if wanted else (None, 0)
        for tracker in trackers:
            agent = tracker.original_agent
            place = agents.get(agent.agent_id)
            if place is None or rooms[place] >= count:
                continue
            if scarce is not None:  # skip busy agents without a call: there are thousands
                slot = agent.resources.slots.get(scarce)
                if slot is None:
                    continue
                capacity, used = slot.capacity, slot.used
                if not ever and used >= capacity and not tracker.reclaimed_slots or capacity < least:
                    continue
                if not ever and used and capacity - used < least and not tracker.reclaimed_slots:
                    continue  # a set difference takes longer than all comparisons
            rooms[place] += room_of(tracker, wanted, most, ever)
            if rooms[place] >= count:
                wanting -= 1
                if not wanting:
                    break
        return rooms

    def _one_build(self, match: Match, image: Image, entry: Entry, waits: bool) -> Decision:
        ranks, others = {}, False
        for place in range(len(match.fleet.places)):
            order = match.order(place)
            if order and order[0] == entry:
                ranks[place] = 0
            elif self._policy == Policy.HOMOGENEOUS and entry in order:
                ranks[place], others = 1, True
        pin = f"{_repository(image.reference)}@{entry.digest}" if others else None
        return Decision(self.agents, ranks, entry, pin, waits)

    def _reason(self, match: Match, image: Image, count: int, policy: Policy) -> str:
        """Of a fleet whose room is set: which builds come nearest, and what agents lack for them."""
        near = []
        for lack in match.place(policy, count).lacks():
            if lack.entry is not None:
                lacking = f", others lack {lack.property}" if lack.property else ""
                near.append(f"{lack.entry.label}: {lack.room} of {count}{lacking}")
        what = "no agent runs a build" if count == 1 else f"no build has agents for {count} members"
        return f"{what} of {image.reference} ({'; '.join(near)})" if near else f"{what} of {image.reference}"


def _wanted(members: Sequence[Any], choose: Any) -> list[tuple[Any, Any]]:
    """Slots of one member; where members differ, the most (`choose` max) or the least that one asks for. Scarce ones
    first: those of accelerators have a dot in their names."""
    names = {name for m in members for name, amount in m.requested_slots.slots.items() if amount}
    wanted = [(name, choose(m.requested_slots.slots.get(name, 0) for m in members)) for name in names]
    return sorted(((n, a) for n, a in wanted if a), key=lambda item: ("." not in item[0], item[0]))


def _spreads(criteria: Any) -> bool:
    """May an agent have one member of the session's group at most?"""
    group = criteria.session_group
    return group is not None and group.enforcement.name == "STRICT" and group.direction.name == "SPREAD"


def _repository(reference: str) -> str:
    reference = reference.partition("@")[0]
    name, colon, tag = reference.rpartition(":")
    return name if colon and "/" not in tag else reference
