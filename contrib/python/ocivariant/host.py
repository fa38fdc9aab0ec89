# SPDX-License-Identifier: LGPL-3.0-or-later
"""What an index uses of a profile, each namespace and feature looked up once."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Optional

from . import code
from .index import Index
from .options import ALL, ANY, FIRST, Options
from .profiles import Device, Feature, Namespace, Profile, find_feature
from .property import Property

UNSUPPORTED = 2**31 - 1


@dataclass(eq=False)
class HostNamespace:
    """One namespace that the index uses, on this host."""
    name: str
    rank: int  # place in the order of namespaces
    listed: Optional[Namespace]  # None: the host does not have it
    policy: str
    code: str = code.NONE  # why every property of it fails
    counted: List[Device] = field(default_factory=list)
    slots: Dict[str, Slot] = field(default_factory=dict)


@dataclass(eq=False)
class Slot:
    """One feature of a namespace, as this host has it."""
    namespace: HostNamespace
    feature: str
    rank: int = UNSUPPORTED  # place in the host's order of features
    lists: List[Optional[Feature]] = field(default_factory=list)  # one for each group of devices, or one in all
    devices: List[Device] = field(default_factory=list)  # the first of each group; none with one list for all
    list_of: List[int] = field(default_factory=list)  # counted device -> list

    def group_devices(self, common: Optional[Feature]) -> None:
        """Make one list for each group of consecutive counted devices with equal lists, and a single one of a feature
        that no device has for itself."""
        own = [find_feature(device.features, self.feature) for device in self.namespace.counted]
        if not any(own):
            self.lists, self.list_of = [common], [0] * len(own)
            return
        for device, feature in zip(self.namespace.counted, own):
            feature = feature or common
            if not self.lists or not same_values(self.lists[-1], feature):
                self.lists.append(feature)
                self.devices.append(device)
            self.list_of.append(len(self.lists) - 1)


@dataclass(eq=False)
class Host:
    index: Index
    profile: Profile
    options: Options
    namespaces: Dict[str, HostNamespace] = field(default_factory=dict)

    def namespace(self, name: str) -> HostNamespace:
        if name in self.namespaces:
            return self.namespaces[name]
        # a static namespace is, of this index, that namespace of every host
        listed = self.index.statics.get(name) or self.profile.namespaces.get(name)
        ns = HostNamespace(name, self.namespace_rank(name), listed, self.options.device_policy.get(name, ALL))
        self.namespaces[name] = ns
        if ns.rank == UNSUPPORTED:
            ns.code = code.NAMESPACE_UNDECLARED
        elif name in self.options.disable:
            ns.code = code.DISABLED
        elif listed is None or not listed.features and not listed.devices:
            ns.code = code.NAMESPACE_UNSUPPORTED
        else:
            self.count_devices(ns, listed)
        return ns

    def namespace_rank(self, name: str) -> int:
        """The user's namespaces come first, then the index's. A user's list never declares one."""
        priority = self.options.namespace_priority
        if name not in self.index.namespaces:
            return UNSUPPORTED
        if name in priority:
            return priority.index(name)
        return len(priority) + self.index.namespaces.index(name)

    def count_devices(self, ns: HostNamespace, listed: Namespace) -> None:
        wanted = self.options.devices.get(ns.name)
        for device in listed.devices:
            if wanted is not None and not any(device.answers_to(one) for one in wanted) or \
                    device.secondary and ns.policy != ANY:
                continue
            ns.counted.append(device)
            if ns.policy == FIRST:
                break  # devices are listed most capable first
        if not ns.counted and (listed.devices or wanted is not None):
            ns.code = code.NO_DEVICE

    def slot(self, namespace: str, feature: str) -> Slot:
        ns = self.namespace(namespace)
        if feature not in ns.slots:
            ns.slots[feature] = slot = Slot(ns, feature)
            if not ns.code and ns.listed:
                slot.rank = feature_rank(ns.listed, feature)
                slot.group_devices(find_feature(ns.listed.features, feature))
        return ns.slots[feature]

    def best(self, slot: Slot, at: int, values: Iterable[str]) -> int:
        """The place of the best of the values in one list of the slot."""
        listed = slot.lists[at]
        places = listed.places if listed else {}
        return min((places[value] for value in values if value in places and not self.disables_value(slot, value)),
                   default=UNSUPPORTED)

    def supports(self, wanted: Property) -> bool:
        """Has any list of the host the property?"""
        slot = self.slot(wanted.namespace, wanted.feature)
        return any(self.best(slot, at, [wanted.value]) != UNSUPPORTED for at in range(len(slot.lists)))

    def disables_value(self, slot: Slot, value: str) -> bool:
        selector = f"{slot.namespace.name} :: {slot.feature}"
        return selector in self.options.disable or f"{selector} :: {value}" in self.options.disable


def feature_rank(listed: Namespace, feature: str) -> int:
    """The place as the namespace lists its features, then those that only devices have."""
    features = listed.features + [one for device in listed.devices for one in device.features]
    return next((place for place, one in enumerate(features) if one.name == feature), UNSUPPORTED)


def same_values(a: Optional[Feature], b: Optional[Feature]) -> bool:
    return (a.values if a else []) == (b.values if b else [])
