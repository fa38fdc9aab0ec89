# SPDX-License-Identifier: LGPL-3.0-or-later
"""The properties of an entry against a host: do they fit, and what is their sort key?"""
from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import Dict, List, Optional, Tuple, Union

from . import code
from .errors import DataError
from .index import Entry, Index
from .options import ALL, ANY, FIRST, Options
from .profiles import Device, Feature, Namespace, Profile, find_feature
from .property import Property, parse_property

UNSUPPORTED = 2**31 - 1  # the place of a value that is not in a list
NO_VALUES = Feature("", [])
# Places of namespace, feature, group of devices and value; and all of an entry's, sorted.
Component = Tuple[int, int, int, int]
Key = List[Component]
Need = List[Property]  # of one feature: one of the values has to be there


@dataclass
class Rejection:
    """Why an entry is out."""
    code: str
    namespace: str = ""  # of the first feature that fails, by namespace and feature; "" if the code is about none
    feature: str = ""
    device: str = ""  # id of the device that is not served
    required: str = ""  # what the entry does not use and has to
    entry: Entry = field(default_factory=Entry)
    wanted: List[str] = field(default_factory=list)  # values of the feature, one of which the host would need
    have: List[str] = field(default_factory=list)  # values that the host has, best first

    @property
    def property(self) -> str:
        """"namespace :: feature", or "" where the code is not about a feature."""
        return f"{self.namespace} :: {self.feature}" if self.namespace else ""


@dataclass(eq=False)
class HostNamespace:
    """One namespace that the index uses, on this host."""
    listed: Namespace
    rank: int  # place in the order of namespaces
    ranks: Dict[str, int]  # of the features: those of the namespace, then those that only devices have
    code: str  # why every property of it fails
    choices: List[List[Device]]  # one has to be served: all devices that count or, under ANY, each by itself
    groups: Dict[str, List[List[Feature]]] = field(default_factory=dict)  # by feature: groups_of each choice

    def lists_of(self, feature: str, devices: List[Device]) -> List[Feature]:
        """The feature's values on each of the devices: its own ones, or those of the namespace."""
        common = find_feature(self.listed.features, feature) or NO_VALUES
        return [find_feature(device.features, feature) or common for device in devices]

    def groups_of(self, feature: str) -> List[List[Feature]]:
        """For each choice the lists of its devices, of neighbours with equal ones the first."""
        if feature not in self.groups:
            self.groups[feature] = [groups(self.lists_of(feature, devices)) for devices in self.choices]
        return self.groups[feature]


def groups(lists: List[Feature]) -> List[Feature]:
    return [one for at, one in enumerate(lists) if at == 0 or one.values != lists[at - 1].values]


@dataclass(eq=False)
class Host:
    """What an index uses of a profile, each namespace looked up once."""
    index: Index
    profile: Profile
    options: Options
    namespaces: Dict[str, HostNamespace] = field(default_factory=dict)

    def namespace(self, name: str) -> HostNamespace:
        if name not in self.namespaces:
            self.namespaces[name] = self._look_up(name)
        return self.namespaces[name]

    def _look_up(self, name: str) -> HostNamespace:
        # a static namespace is, of this index, that namespace of every host
        listed = self.index.statics.get(name) or self.profile.namespaces.get(name) or Namespace(name)
        features = listed.features + [one for device in listed.devices for one in device.features]
        ranks = {one: place for place, one in enumerate(dict.fromkeys(feature.name for feature in features))}
        if name not in self.index.namespaces:  # the user's list declares none
            return HostNamespace(listed, UNSUPPORTED, ranks, code.NAMESPACE_UNDECLARED, [])
        rank = (self.options.namespace_priority + self.index.namespaces).index(name)
        choices, why = self._choices(listed), code.NONE
        if name in self.options.disable:
            why = code.DISABLED
        elif not features and not listed.devices:
            why = code.NAMESPACE_UNSUPPORTED
        elif not choices:
            why = code.NO_DEVICE
        return HostNamespace(listed, rank, ranks, why, [] if why else choices)

    def _choices(self, listed: Namespace) -> List[List[Device]]:
        """Devices in their order, most capable first. A namespace without devices has one that has no features of its
        own."""
        policy, wanted = self.options.device_policy.get(listed.name, ALL), self.options.devices.get(listed.name)
        if not listed.devices and wanted is None:
            return [[Device("", "", 0, False, [])]]
        counted = [one for one in listed.devices if (wanted is None or any(map(one.answers_to, wanted))) and
                   (policy == ANY or not one.secondary)]
        if policy == ANY:
            return [[one] for one in counted]
        return [counted[:1] if policy == FIRST else counted] if counted else []

    def fit(self, entry: Entry) -> Union[Key, Rejection]:
        """The sort key of the entry's properties, or why they do not fit."""
        key: Key = []
        for name, properties in groupby(entry.properties, lambda one: one.namespace):
            ns = self.namespace(name)
            needs = [list(need) for _, need in groupby(properties, lambda one: one.feature)]
            part = self._best_key(ns, needs)
            if part is None:
                return self._explain(ns, needs)
            key += part
        return sorted(key)

    def _best_key(self, ns: HostNamespace, needs: List[Need]) -> Optional[Key]:
        """The devices that serve all needs best decide."""
        keys = [self._key_on(ns, choice, needs) for choice in range(len(ns.choices))]
        return min((key for key in keys if key is not None), default=None)

    def _key_on(self, ns: HostNamespace, choice: int, needs: List[Need]) -> Optional[Key]:
        """None where a device does not serve a need."""
        key = [(ns.rank, ns.ranks.get(need[0].feature, UNSUPPORTED), group, self._best_place(listed, need))
               for need in needs for group, listed in enumerate(ns.groups_of(need[0].feature)[choice])]
        return None if any(one[3] == UNSUPPORTED for one in key) else sorted(key)

    def _best_place(self, listed: Feature, need: Need) -> int:
        return min((listed.places[one.value] for one in need if one.value in listed.places and not self._disables(one)),
                   default=UNSUPPORTED)

    def _disables(self, one: Property) -> bool:
        """Is the value or its feature disabled? The whole namespace has a code of its own."""
        return str(one) in self.options.disable or f"{one.namespace} :: {one.feature}" in self.options.disable

    def _explain(self, ns: HostNamespace, needs: List[Need]) -> Rejection:
        """About the first need that is met nowhere. Where ANY asks for one device, and each need is met on another one,
        about the first that the first device does not meet."""
        nowhere = [need for need in needs if self._best_key(ns, [need]) is None]
        need = nowhere[0] if nowhere else next(one for one in needs if self._key_on(ns, 0, [one]) is None)
        why = Rejection(ns.code, ns.listed.name, need[0].feature, wanted=[one.value for one in need])
        if why.code:
            return why
        devices = [device for choice in ns.choices for device in choice]
        lists = ns.lists_of(why.feature, devices)
        at = next(at for at, listed in enumerate(lists) if self._best_place(listed, need) == UNSUPPORTED)
        why.have = lists[0].values
        if nowhere and any(map(self._disables, need)):
            why.code = code.DISABLED
        elif len(groups(lists)) > 1:
            why.code, why.device, why.have = code.DEVICE, devices[at].id, lists[at].values
        else:
            why.code = code.VALUE_UNSUPPORTED if why.have else code.FEATURE_UNSUPPORTED
        return why

    def unmet(self, entry: Entry) -> str:
        """The first of Options.require that an entry does not use, or ""."""
        return next((item for item in self.options.require
                     if not any(self._meets(item, one) for one in entry.properties)), "")

    def _meets(self, item: str, one: Property) -> bool:
        """Is the property what is required, or, where a single value is, have the devices of its namespace that count
        that value?"""
        ns = self.namespace(one.namespace)
        lists = [listed for choice in ns.groups_of(one.feature) for listed in choice]
        if f"{one} :: ".startswith(item + " :: ") and any(self._best_place(listed, [one]) != UNSUPPORTED
                                                          for listed in lists):
            return True
        try:
            wanted = parse_property(item)
        except DataError:
            return False
        return wanted.namespace == one.namespace and bool(ns.listed.devices) and \
            any(all(wanted.value in listed.places for listed in choice) for choice in ns.groups_of(wanted.feature))
