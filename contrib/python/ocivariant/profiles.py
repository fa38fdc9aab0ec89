# SPDX-License-Identifier: LGPL-3.0-or-later
"""Profiles: what one host supports, best first."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from .errors import (MAX_DEVICES, MAX_DOCUMENT, MAX_FEATURE_VALUES, MAX_FEATURES, MAX_PROFILE_NAMESPACES)
from .platform import Platform, normal_architecture
from .property import NAME_GRAMMAR, VALUE_GRAMMAR, Property, lower
from .strictjson import Fields, load_json

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
        if text and not text.strip("0123456789"):
            number = text.lstrip("0") or "0"
            return len(number) < 20 and int(number) == self.index
        text, own, uuid = lower(text), lower(self.id), lower(self.uuid)
        # "0000:3b:00.0" and nvidia-smi's "00000000:3b:00.0" are one address
        addresses = own.count(":") > 1 and text.count(":") > 1
        return own == text or uuid != "" and uuid == text or \
            addresses and own.lstrip("0") == text.lstrip("0") or \
            len(own) == len(text) + 5 and own[4] == ":" and own[5:] == text


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
    f = Fields("profile", load_json("profile", data, None))
    if f.has("schema") and f.text("schema") != PROFILE_SCHEMA:
        raise f.fault(f"schema is '{f.text('schema')[:60]}', known here: {PROFILE_SCHEMA}")
    if not f.has("namespaces"):
        raise f.fault("'namespaces' is missing")
    namespaces: Dict[str, Namespace] = {}
    for item in f.list("namespaces", MAX_PROFILE_NAMESPACES):
        namespace = read_namespace(item)
        if namespace.name in namespaces:
            raise f.fault(f"namespace '{namespace.name}' is listed twice")
        namespaces[namespace.name] = namespace
    p = Fields("profile: platform", f.object("platform"))
    return Profile(read_host_platform(p, namespaces), namespaces, p.has("architecture"))


def read_host_platform(p: Fields, namespaces: Dict[str, Namespace]) -> Platform:
    system, architecture, variant = p.text("os"), p.text("architecture"), p.text("variant")
    features: List[str] = []
    if isinstance(p.members.get("os.features"), list):
        features = p.texts("os.features", MAX_DOCUMENT)
    if not p.has("os"):
        system = "linux"
    if not p.has("variant") and normal_architecture(architecture) == "amd64":
        levels = ("v4", "v3", "v2")  # a profile written by hand may have no variant
        variant = next((level for level in levels if supports(namespaces, Property("x86_64", "level", level))), "")
    return Platform(system, architecture, variant, os_features=tuple(features))


def read_namespace(item: Any) -> Namespace:
    n = Fields("profile: namespace", item)
    name, features = read_name(n, "namespace"), read_features(n)
    devices = [read_device(place, device) for place, device in enumerate(n.list("devices", MAX_DEVICES))]
    return Namespace(name, features, devices)


def read_device(place: int, item: Any) -> Device:
    d = Fields("profile: device", item)
    index = d.members.get("index")
    if type(index) is not int or not 0 <= index < 2**31 - 1:
        index = place
    return Device(d.text("id") if d.has("id") else str(index), d.text("uuid"), index,
                  d.members.get("secondary") is True, read_features(d))


def read_features(f: Fields) -> List[Feature]:
    features: Dict[str, Feature] = {}
    for item in f.list("features", MAX_FEATURES):
        m = Fields("profile: feature", item)
        name, values = read_name(m, "name"), m.texts("values", MAX_FEATURE_VALUES)
        for value in values:
            if not VALUE_GRAMMAR.fullmatch(value):
                raise m.fault(f"value '{value[:60]}' is not of a-z 0-9 _ .")
        if name in features:
            raise f.fault(f"feature '{name}' is listed twice")
        features[name] = Feature(name, values)
    return list(features.values())


def read_name(f: Fields, key: str) -> str:
    name = f.text(key)
    if not NAME_GRAMMAR.fullmatch(name):
        raise f.fault(f"'{key}' is missing or not of a-z 0-9 _")
    return name


def supports(namespaces: Dict[str, Namespace], wanted: Property) -> bool:
    """Has the namespace's own list the property?"""
    namespace = namespaces.get(wanted.namespace)
    feature = find_feature(namespace.features, wanted.feature) if namespace else None
    return feature is not None and wanted.value in feature.places
