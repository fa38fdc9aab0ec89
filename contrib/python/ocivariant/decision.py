# SPDX-License-Identifier: LGPL-3.0-or-later
"""Choosing among the entries of an index, in PEP 825's order."""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, List, Optional, Tuple, Union

from . import code
from .errors import InvalidError
from .host import Host, Rejection
from .index import NULL, VARIANT, Entry, Index
from .options import Options
from .platform import Platform, match_platform
from .profiles import Profile

_END = (2**31,)  # behind a key: the longer of two beats its own beginning


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


def resolve(index: Index, profile: Profile, options: Options = Options()) -> Decision:
    """Choose an entry of the index for the host of the profile. That nothing fits is no error. Bad options, and no
    platform in profile and options, are InvalidErrors."""
    r = Request(index, profile, options.normal())
    choose_platform(r)
    r.plain = options.label == "null" and not any(offers_null(r, entry) for entry in index.entries)
    decision, keys = Decision(), {}
    for entry in index.entries:
        one = consider(r, entry)
        if isinstance(one, Rejection):
            one.entry = entry
            decision.rejected.append(one)
        else:
            decision.order.append(entry)
            keys[entry.position] = one
    decision.order.sort(key=lambda entry: keys[entry.position])
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
    elif own.normal().architecture != asked.normal().architecture or asked.os and asked.os != own.os:
        r.foreign, r.platform = True, asked
    elif asked.variant and match_platform(own, asked)[1] == code.NONE:
        r.platform = replace(own, variant=asked.variant)


def place_of(r: Request, entry: Entry) -> Tuple[int, int, str]:
    """Where the entry's platform stands on this host: 0 for the own architecture, 1 for the compatible one and 2
    without platform and annotations; place; code."""
    if not entry.platform.os and not entry.platform.architecture:
        return 0 if entry.label else 2, 0, code.NONE
    place, why = match_platform(r.platform, entry.platform)
    return int(r.platform.normal().architecture != entry.platform.normal().architecture), place, why


def offers_null(r: Request, entry: Entry) -> bool:
    """Is the entry a "null" that a request for that label takes?"""
    return not entry.code and entry.kind == NULL and place_of(r, entry)[2] == code.NONE


def consider(r: Request, entry: Entry) -> Union[Tuple[Any, ...], Rejection]:
    """The sort key of the entry, or why it does not fit."""
    architecture, place, why = place_of(r, entry)
    if entry.code or why:
        return Rejection(entry.code or why)
    if entry.kind == VARIANT and r.foreign:
        return Rejection(code.FOREIGN_ARCHITECTURE)
    key = r.fit(entry)
    if isinstance(key, Rejection):
        return key
    required = r.unmet(entry)
    if required:
        return Rejection(code.REQUIREMENT, required=required)
    unfinished, label = entry.is_unfinished(), r.options.label
    if label and label != entry.label and (entry.label or unfinished or not r.plain):
        return Rejection(code.NOT_REQUESTED)
    # of twins in other formats the one that uses more of this host, and in the end the first in the index
    return architecture, entry.kind, [*key, _END], unfinished, place, entry.label, -len(entry.platform.os_features)
