# SPDX-License-Identifier: LGPL-3.0-or-later
"""libocivariant's matching (ocivariant/match.h) over ctypes.

A Fleet has one node for each class of machines, whose slots are the room of all agents of that class; a Match checks
an index for every class; a Placement says which entry all members of a gang get. Strings that the library lends are
copied here. Not thread-safe: one thread uses a fleet and its matches.
"""

from __future__ import annotations

import ctypes as c
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

SONAME = "libocivariant.so.1"


class OcvError(Exception):
    """What the library refused, in its words."""


class Policy(IntEnum):
    """enum ocv_match_policy"""

    HOMOGENEOUS = 0  # one entry for all; nodes that would choose another need a pin
    BEST = 1  # the best entry for each node
    UNPINNED = 3  # one entry for all, on nodes that choose it by themselves


class _Error(c.Structure):
    _fields_ = [("status", c.c_int), ("http_status", c.c_int), ("message", c.c_char * 1024), ("hint", c.c_char * 512)]


class _Platform(c.Structure):
    _fields_ = [(name, c.c_char_p) for name in ("os", "architecture", "variant", "os_version")] + [
        ("os_features", c.c_void_p),
        ("n_os_features", c.c_size_t),
    ]


class _Entry(c.Structure):
    _fields_ = [
        ("position", c.c_size_t),
        ("kind", c.c_int),
        ("code", c.c_int),
        ("detail", c.c_char_p),
        ("label", c.c_char_p),
        ("media_type", c.c_char_p),
        ("digest", c.c_char_p),
        ("size", c.c_int64),
        ("has_platform", c.c_bool),
        ("platform", _Platform),
        ("properties", c.c_void_p),
        ("n_properties", c.c_size_t),
    ]


class _Node(c.Structure):
    _fields_ = [("name", c.c_char_p), ("weight", c.c_uint32), ("slots", c.c_uint32), ("excluded", c.c_bool)]


class _Role(c.Structure):
    _fields_ = [("name", c.c_char_p), ("architecture", c.c_char_p), ("count", c.c_size_t)]


class _Request(c.Structure):
    _fields_ = [
        ("policy", c.c_int),
        ("roles", c.POINTER(_Role)),
        ("n_roles", c.c_size_t),
        ("nodes", c.c_void_p),
        ("n_nodes", c.c_size_t),
        ("pin", c.c_char_p),
    ]


class _Member(c.Structure):
    _fields_ = [("role", c.c_size_t), ("node", c.c_size_t), ("entry", c.POINTER(_Entry)), ("own", c.c_bool)]


class _Lack(c.Structure):
    _fields_ = [
        ("role", c.c_size_t),
        ("entry", c.POINTER(_Entry)),
        ("room", c.c_size_t),
        ("missing", c.c_size_t),
        ("cost", c.c_size_t),
        ("code", c.c_int),
        ("ns", c.c_char_p),
        ("feature", c.c_char_p),
        ("class_place", c.c_size_t),
    ]


_OUT, _BYTES, _SIZE, _ERR = c.POINTER(c.c_void_p), c.c_char_p, c.c_size_t, c.POINTER(_Error)
# name: result, arguments; a result of None: returns a status, with an error as last argument
_PROTOTYPES: dict[str, tuple[object, list[object]]] = {
    "version": (_BYTES, []),
    "profile_parse": (None, [_BYTES, _SIZE, _OUT]),
    "profile_free": (False, [c.c_void_p]),
    "profile_class": (None, [c.c_void_p, _BYTES]),
    "index_parse": (None, [_BYTES, _SIZE, _BYTES, _OUT]),
    "index_free": (False, [c.c_void_p]),
    "index_has_variants": (c.c_bool, [c.c_void_p]),
    "index_digest": (_BYTES, [c.c_void_p]),
    "fleet_new": (None, [_OUT]),
    "fleet_free": (False, [c.c_void_p]),
    "fleet_add": (None, [c.c_void_p, c.POINTER(_Node), c.c_void_p]),
    "fleet_change": (None, [c.c_void_p, c.POINTER(_Node), c.c_void_p]),
    "match_new": (None, [c.c_void_p, c.c_void_p, c.c_void_p, _OUT]),
    "match_update": (None, [c.c_void_p]),
    "match_free": (False, [c.c_void_p]),
    "match_decision": (c.c_void_p, [c.c_void_p, _SIZE]),
    "decision_order": (c.POINTER(_Entry), [c.c_void_p, _SIZE]),
    "match_place": (None, [c.c_void_p, c.POINTER(_Request), _OUT]),
    "placement_free": (False, [c.c_void_p]),
    "placement_found": (c.c_bool, [c.c_void_p]),
    "placement_count": (_SIZE, [c.c_void_p]),
    "placement_member": (_Member, [c.c_void_p, _SIZE]),
    "placement_entry": (c.POINTER(_Entry), [c.c_void_p, _SIZE]),
    "placement_lack_count": (_SIZE, [c.c_void_p]),
    "placement_lack": (_Lack, [c.c_void_p, _SIZE]),
}


@dataclass(frozen=True)
class Entry:
    """An entry of an index."""

    position: int
    label: str  # "default" if it has none
    digest: str


@dataclass(frozen=True)
class Lack:
    """How far an entry is from having room for all."""

    entry: Entry | None
    room: int
    property: str | None  # "ns :: feature" that most of the others lack


def _text(raw: bytes | None) -> str:
    return raw.decode(errors="replace") if raw else ""


def _entry(pointer: c._Pointer[_Entry]) -> Entry:
    raw = pointer.contents
    return Entry(raw.position, _text(raw.label) or "default", _text(raw.digest))


class Library:
    """The library, once for each process. OSError where it is not installed."""

    def __init__(self, path: str | None = None) -> None:
        self._dll = c.CDLL(path or os.environ.get("OCIVARIANT_LIBRARY") or SONAME)
        for name, (result, arguments) in _PROTOTYPES.items():
            function = getattr(self._dll, "ocv_" + name)
            function.restype = c.c_int if result is None else result or None
            function.argtypes = [*arguments, _ERR] if result is None else arguments

    def get(self, name: str, *arguments: object) -> Any:
        """Call a function that cannot fail."""
        return getattr(self._dll, "ocv_" + name)(*arguments)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function that returns a status."""
        error = _Error()
        if getattr(self._dll, "ocv_" + name)(*arguments, c.byref(error)) < 0:
            raise OcvError(_text(error.message))

    def version(self) -> str:
        return _text(self.get("version"))

    def profile(self, document: bytes) -> Profile:
        return Profile(self, document)

    def index(self, document: bytes) -> Index:
        return Index(self, document)

    def fleet(self) -> Fleet:
        return Fleet(self)

    def match(self, fleet: Fleet, index: Index) -> Match:
        return Match(fleet, index)


class _Owned:
    """A handle that the library gave, freed with the object."""

    _kind: str

    def __init__(self, library: Library, maker: str, *arguments: object) -> None:
        self.library = library
        self.handle = c.c_void_p()
        library.call(maker, *arguments, c.byref(self.handle))

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.library.get(self._kind + "_free", self.handle)


class Profile(_Owned):
    """A profile, of JSON."""

    _kind = "profile"

    def __init__(self, library: Library, document: bytes) -> None:
        super().__init__(library, "profile_parse", document, len(document))

    def class_name(self) -> str:
        """12 hexadecimal digits: equal for machines that choose alike."""
        out = c.create_string_buffer(13)
        self.library.call("profile_class", self.handle, out)
        return _text(out.value)


class Index(_Owned):
    """An image index, of its bytes."""

    _kind = "index"

    def __init__(self, library: Library, document: bytes) -> None:
        super().__init__(library, "index_parse", document, len(document), None)

    def has_variants(self) -> bool:
        return bool(self.library.get("index_has_variants", self.handle))

    def digest(self) -> str:
        return _text(self.library.get("index_digest", self.handle))


class Fleet(_Owned):
    """Classes of machines by name, each with the room that its agents have in all."""

    _kind = "fleet"

    def __init__(self, library: Library) -> None:
        super().__init__(library, "fleet_new")
        self.places: dict[str, int] = {}
        self._names: list[bytes] = []
        self._room: list[int] = []

    def add(self, profile: Profile) -> int:
        """The place of a profile's class, new or not."""
        name = profile.class_name()
        if name not in self.places:
            node = _Node(name=name.encode(), slots=0)
            self.library.call("fleet_add", self.handle, c.byref(node), profile.handle)
            self.places[name] = len(self._names)
            self._names.append(name.encode())
            self._room.append(0)
        return self.places[name]

    def set_room(self, room: Sequence[int]) -> None:
        """Members that the agents of each class have room for, by place; 0 behind the end."""
        for place, old in enumerate(self._room):
            new = min(room[place], 0xFFFFFFFF) if place < len(room) else 0
            if new != old:
                node = _Node(name=self._names[place], slots=new)
                self.library.call("fleet_change", self.handle, c.byref(node), None)
                self._room[place] = new


class Match(_Owned):
    """What every class of a fleet makes of an index."""

    _kind = "match"

    def __init__(self, fleet: Fleet, index: Index) -> None:
        self.fleet, self.index = fleet, index  # borrowed by the handle
        super().__init__(fleet.library, "match_new", fleet.handle, index.handle, None)
        self.checked = len(fleet.places)
        self._orders: dict[int, list[Entry]] = {}

    def update(self) -> None:
        """Check classes that came since."""
        if self.checked != len(self.fleet.places):
            self.library.call("match_update", self.handle)
            self.checked = len(self.fleet.places)

    def order(self, place: int) -> list[Entry]:
        """The entries that machines of a class run, best first."""
        if place not in self._orders:
            decision, entries = self.library.get("match_decision", self.handle, place), []
            while entry := self.library.get("decision_order", decision, len(entries)):
                entries.append(_entry(entry))
            self._orders[place] = entries
        return self._orders[place]

    def place(self, policy: Policy, count: int) -> Placement:
        return Placement(self, policy, count)


class Placement(_Owned):
    """Whether `count` members find room, and with which entry."""

    _kind = "placement"

    def __init__(self, match: Match, policy: Policy, count: int) -> None:
        self.match = match  # borrowed by the handle
        role = _Role(count=count)
        request = _Request(policy=policy, roles=c.pointer(role), n_roles=1)
        super().__init__(match.library, "match_place", match.handle, c.byref(request))

    def found(self) -> bool:
        return bool(self.library.get("placement_found", self.handle))

    def entry(self) -> Entry | None:
        """The entry of all members; none under Policy.BEST, or without placement."""
        pointer = self.library.get("placement_entry", self.handle, 0)
        return _entry(pointer) if pointer else None

    def places(self) -> list[int]:
        """The classes of the members, in the order in which they were taken."""
        count = self.library.get("placement_count", self.handle)
        members = (self.library.get("placement_member", self.handle, i) for i in range(count))
        return [member.node for member in members]

    def lacks(self) -> list[Lack]:
        """The entries that come nearest."""
        out = []
        for i in range(self.library.get("placement_lack_count", self.handle)):
            raw = self.library.get("placement_lack", self.handle, i)
            name = f"{_text(raw.ns)} :: {_text(raw.feature)}" if raw.ns and raw.feature else None
            out.append(Lack(_entry(raw.entry) if raw.entry else None, raw.room, name))
        return out
