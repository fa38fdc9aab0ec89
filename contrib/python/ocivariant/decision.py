# SPDX-License-Identifier: LGPL-3.0-or-later
"""Choosing among the entries of an index, in PEP 825's order."""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cmp_to_key
from typing import Any, List, NamedTuple, Optional, Tuple, Union

from . import code
from .entry import Component, Rejection, check_fit, compare_keys, key_of
from .errors import InvalidError
from .host import Host
from .index import NULL, VARIANT, Entry, Index
from .options import ANY, Options
from .platform import Platform, architecture_turn, match_platform
from .profiles import Profile, find_feature
from .property import Property


@dataclass
class Decision:
    """The answer of resolve(). Every entry of the index is either in the order or rejected."""
    order: List[Entry] = field(default_factory=list)  # that fit, best first
    rejected: List[Rejection] = field(default_factory=list)

    def selected(self) -> Optional[Entry]:
        """The chosen entry, or None if nothing fits."""
        return self.order[0] if self.order else None


@dataclass(eq=False)
class Request(Host):
    """What is asked of each entry."""
    platform: Platform = Platform()
    foreign: bool = False  # Options.platform is another machine than the profile's
    plain: bool = False  # the label null is asked for, and no entry has it


class Candidate(NamedTuple):
    """An entry that fits, with what orders it."""
    entry: Entry
    architecture: int  # 0 own, 1 compatible, 2 without platform and annotations
    place: int  # of the platform in the host's order
    key: List[Component]


def resolve(index: Index, profile: Profile, options: Options = Options()) -> Decision:
    """Choose an entry of the index for the host of the profile. That nothing fits is no error. Bad options, and no
    platform in profile and options, are InvalidErrors."""
    r = Request(index, profile, options.normal())
    choose_platform(r)
    r.plain = options.label == "null" and not any(offers_null(r, entry) for entry in index.entries)
    decision, candidates = Decision(), []
    for entry in index.entries:
        one = consider(r, entry)
        if isinstance(one, Candidate):
            candidates.append(one)
        else:
            decision.rejected.append(explain(r, entry, one))
    candidates.sort(key=cmp_to_key(compare_candidates))
    decision.order = [one.entry for one in candidates]
    return decision


def choose_platform(r: Request) -> None:
    """The profile's platform, or the one asked for, lowered to what the host can run."""
    own, asked = r.profile.platform, r.options.platform
    if asked is None and not r.profile.named:
        raise InvalidError("the profile names no platform")
    r.platform = own
    if asked is None:
        return
    if not r.profile.named:
        r.platform = replace(asked, os_features=own.os_features)
    elif architecture_turn(own, asked) != 0 or asked.os and asked.os != own.os:
        r.foreign, r.platform = True, asked
    elif asked.variant and match_platform(own, asked)[1] == code.NONE:
        r.platform = replace(own, variant=asked.variant)


def place_of(r: Request, entry: Entry) -> Tuple[int, int, str]:
    """Where the entry's platform stands on this host: turn of its architecture, place, code."""
    if not entry.platform.os and not entry.platform.architecture:
        return 0 if entry.label else 2, 0, code.NONE
    place, why = match_platform(r.platform, entry.platform)
    return architecture_turn(r.platform, entry.platform), place, why


def offers_null(r: Request, entry: Entry) -> bool:
    """Is the entry a "null" that a request for that label takes?"""
    return not entry.code and entry.kind == NULL and place_of(r, entry)[2] == code.NONE


def asks_for(r: Request, entry: Entry) -> bool:
    """Is the label that is asked for, if any, the entry's?"""
    label = r.options.label
    if label and not entry.label:
        return r.plain and not entry.is_unfinished()
    return not label or label == entry.label


def consider(r: Request, entry: Entry) -> Union[Candidate, Rejection]:
    """Make a candidate of the entry, or say why it is none."""
    if entry.code:
        return Rejection(entry.code)
    architecture, place, why = place_of(r, entry)
    if why:
        return Rejection(why)
    if entry.kind == VARIANT and r.foreign:
        return Rejection(code.FOREIGN_ARCHITECTURE)
    rejection = check_fit(r, entry)
    if rejection:
        return rejection
    required = unmet(r, entry)
    if required:
        return Rejection(code.REQUIREMENT, required=required)
    if not asks_for(r, entry):
        return Rejection(code.NOT_REQUESTED)
    return Candidate(entry, architecture, place, key_of(r, entry))


def explain(r: Request, entry: Entry, why: Rejection) -> Rejection:
    """Add the entry, what it wants and what the host has."""
    why.entry = entry
    if not why.namespace:
        return why
    why.wanted = [one.value for one in entry.properties if (one.namespace, one.feature) == (why.namespace, why.feature)]
    slot = r.slot(why.namespace, why.feature)
    at = next((at for at, device in enumerate(slot.devices) if why.device and device.id == why.device), 0)
    have = slot.lists[at] if slot.lists else None
    why.have = have.values if have else []
    return why


def compare_candidates(a: Candidate, b: Candidate) -> int:
    labelled = a.entry.label != "" and b.entry.label != ""
    # of twins in other formats the one that uses more of this host
    features = compare(len(b.entry.platform.os_features), len(a.entry.platform.os_features))
    return (compare(a.architecture, b.architecture) or compare(a.entry.kind, b.entry.kind) or
            compare_keys(a.key, b.key) or compare(a.entry.is_unfinished(), b.entry.is_unfinished()) or
            compare(a.place, b.place) or labelled and compare(a.entry.label, b.entry.label) or
            features or compare(a.entry.position, b.entry.position))


def compare(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


def unmet(host: Host, entry: Entry) -> str:
    """The first of Options.require that an entry does not use, or ""."""
    return next((item for item in host.options.require
                 if not any(meets(host, item, one) for one in entry.properties)), "")


def meets(host: Host, item: str, one: Property) -> bool:
    """Is the property what is required, or, where a single value is, have the devices of its namespace that count that
    value?"""
    if f"{one} :: ".startswith(item + " :: ") and host.supports(one):
        return True
    parts = item.split(" :: ")
    if len(parts) < 3 or parts[0] != one.namespace:
        return False
    ns, have = host.namespace(one.namespace), 0
    for device in ns.counted:
        feature = find_feature(device.features, parts[1]) or find_feature(ns.listed.features if ns.listed else [], parts[1])
        have += feature is not None and parts[2] in feature.places
    return have > 0 and (have == len(ns.counted) or ns.policy == ANY)
