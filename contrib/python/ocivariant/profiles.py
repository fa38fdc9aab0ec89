# SPDX-License-Identifier: LGPL-3.0-or-later
"""Profiles: what one host supports, best first."""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Dict, List, Optional

from .errors import (MAX_DEVICES, MAX_DOCUMENT, MAX_FEATURE_VALUES, MAX_FEATURES, MAX_PROFILE_NAMESPACES, about)
from .platform import Platform
from .property import NAME_GRAMMAR, VALUE_GRAMMAR, lower
from .strictjson import Object, check, load_json, read_list, read_object, read_text

PROFILE_SCHEMA = "dev.ocivariant.profile/v1"


@dataclass
class Feature:
    """An ordered list of values, best first."""
    name: str
    values: List[str]

    def __post_init__(self) -> None:
        self.places: Dict[str, int] = {}  # of one that is listed twice the first
        for place, value in enumerate(self.values):
            self.places.setdefault(value, place)


def find_feature(features: List[Feature], name: str) -> Optional[Feature]:
    return next((feature for feature in features if feature.name == name), None)


@dataclass
class Device:
    """One device of a namespace. Its features replace those of the namespace for it."""
    id: str  # PCI address; its index where that is not recorded
    uuid: str
    index: int  # order on the bus within the namespace
    secondary: bool  # counts under ANY only
    features: List[Feature]

    def answers_to(self, text: str) -> bool:
        """Does the text name the device: its index, its PCI address with or without domain, or its UUID?"""
        if not text.strip("0123456789"):
            number = text.lstrip("0") or "0"
            return len(number) < 20 and int(number) == self.index
        text, own = lower(text), lower(self.id)
        # "0000:3b:00.0" and nvidia-smi's "00000000:3b:00.0" are one address
        return text in (own, lower(self.uuid)) or own[4:5] == ":" and own[5:] == text or \
            own.count(":") > 1 and own.lstrip("0") == text.lstrip("0")


@dataclass
class Namespace:
    """The features of one kind of hardware, most important first, and its devices, most capable first."""
    name: str
    features: List[Feature] = field(default_factory=list)
    devices: List[Device] = field(default_factory=list)


@dataclass
class Profile:
    """What one host supports."""
    platform: Platform
    namespaces: Dict[str, Namespace]
    named: bool  # the platform has an architecture


def parse_profile(data: bytes) -> Profile:
    """Parse a profile. Unknown keys are ignored; a namespace or feature that is listed twice, bad syntax and going over a
    limit are DataErrors. An absent operating system is linux, and an absent variant of amd64 the level that the profile
    has."""
    with about("profile"):
        root = load_json(data, None)
        schema = read_text(root, "schema")
        check(schema == PROFILE_SCHEMA or "schema" not in root, f"schema is '{schema[:60]}', known is {PROFILE_SCHEMA}")
        check("namespaces" in root, "'namespaces' is missing")
        namespaces: Dict[str, Namespace] = {}
        for item in read_list(root, "namespaces", MAX_PROFILE_NAMESPACES, dict):
            name = read_name(item, "namespace")
            check(name not in namespaces, f"namespace '{name}' is listed twice")
            devices = read_list(item, "devices", MAX_DEVICES, dict)
            namespaces[name] = Namespace(name, read_features(item), [read_device(*one) for one in enumerate(devices)])
        platform = read_object(root, "platform")
        return Profile(read_host_platform(platform, namespaces), namespaces, "architecture" in platform)


def read_host_platform(members: Object, namespaces: Dict[str, Namespace]) -> Platform:
    features: List[str] = []
    if isinstance(members.get("os.features"), list):
        features = read_list(members, "os.features", MAX_DOCUMENT, str)
    platform = Platform(read_text(members, "os") if "os" in members else "linux", read_text(members, "architecture"),
                        read_text(members, "variant"), os_features=tuple(features))
    if "variant" not in members and platform.normal().architecture == "amd64" and "x86_64" in namespaces:
        levels = find_feature(namespaces["x86_64"].features, "level")  # a profile written by hand may have no variant
        best = [level for level in ("v4", "v3", "v2") if levels and level in levels.places]
        platform = replace(platform, variant=best[0] if best else "")
    return platform


def read_device(place: int, members: Object) -> Device:
    index = members.get("index")
    if type(index) is not int or not 0 <= index < 2**31 - 1:
        index = place
    return Device(read_text(members, "id") if "id" in members else str(index), read_text(members, "uuid"), index,
                  members.get("secondary") is True, read_features(members))


def read_features(members: Object) -> List[Feature]:
    features: Dict[str, Feature] = {}
    for item in read_list(members, "features", MAX_FEATURES, dict):
        name, values = read_name(item, "name"), read_list(item, "values", MAX_FEATURE_VALUES, str)
        bad = next((value for value in values if not VALUE_GRAMMAR.fullmatch(value)), None)
        check(bad is None, f"value '{bad}' is not of a-z 0-9 _ .")
        check(name not in features, f"feature '{name}' is listed twice")
        features[name] = Feature(name, values)
    return list(features.values())


def read_name(members: Object, key: str) -> str:
    name = read_text(members, key)
    check(NAME_GRAMMAR.fullmatch(name), f"'{key}' is missing or not of a-z 0-9 _")
    return name
