# SPDX-License-Identifier: LGPL-3.0-or-later
"""One entry against the host: does it fit under the device policies, and what is its sort key."""
from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import List, NamedTuple, Optional, Tuple

from . import code
from .host import UNSUPPORTED, Host, Slot
from .index import Entry
from .options import ANY
from .property import Property


class Need(NamedTuple):
    """One feature that an entry names: one of the values has to be there."""
    slot: Slot
    values: List[str]


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


# Places of namespace, feature, group of devices and value, and a list of these, that is sorted.
Component = Tuple[int, int, int, int]


def needs_of(host: Host, entry: Entry) -> List[List[Need]]:
    """What the entry needs, by namespace, in canonical order."""
    groups: List[List[Need]] = []
    for _, of_namespace in groupby(entry.properties, lambda one: one.namespace):
        groups.append([])
        for (namespace, feature), same in groupby(of_namespace, feature_of):
            groups[-1].append(Need(host.slot(namespace, feature), [one.value for one in same]))
    return groups


def feature_of(one: Property) -> Tuple[str, str]:
    return one.namespace, one.feature


def check_fit(host: Host, entry: Entry) -> Optional[Rejection]:
    """The first failure by namespace and feature, device by device as the policies say."""
    for group in needs_of(host, entry):
        for one in group:
            why = check_need(host, one)
            if why:
                return why
        why = check_one_device(host, group)
        if why:
            return why
    return None


def check_need(host: Host, one: Need) -> Optional[Rejection]:
    """Ask under ALL and FIRST (which counts one device) every list of the slot, and under ANY at least one."""
    slot, ns = one.slot, one.slot.namespace
    failing = [at for at in range(len(slot.lists)) if host.best(slot, at, one.values) == UNSUPPORTED]
    some = len(failing) < len(slot.lists)
    if some and (ns.policy == ANY or not failing):
        return None
    if ns.code:
        return Rejection(ns.code, ns.name, slot.feature)
    if any(host.disables_value(slot, value) for value in one.values):
        return Rejection(code.DISABLED, ns.name, slot.feature)
    if some or len(slot.lists) > 1:
        device = slot.devices[failing[0]]
        return Rejection(code.DEVICE, ns.name, slot.feature, device.id)
    listed = any(feature is not None and feature.values for feature in slot.lists)
    return Rejection(code.VALUE_UNSUPPORTED if listed else code.FEATURE_UNSUPPORTED, ns.name, slot.feature)


def check_one_device(host: Host, group: List[Need]) -> Optional[Rejection]:
    """Ask under ANY for one device that has all features of the namespace."""
    ns = group[0].slot.namespace
    if ns.policy != ANY or not ns.counted:
        return None
    failing = [failing_slot(host, group, device) for device in range(len(ns.counted))]
    if None in failing or failing[0] is None:
        return None
    return Rejection(code.DEVICE, ns.name, failing[0].feature, ns.counted[0].id)


def failing_slot(host: Host, group: List[Need], device: int) -> Optional[Slot]:
    """The first of one namespace's needs that the device does not serve."""
    return next((slot for slot, values in group if host.best(slot, slot.list_of[device], values) == UNSUPPORTED), None)


def compare_keys(a: List[Component], b: List[Component]) -> int:
    """Of two keys of which one is the beginning of the other the longer one is better."""
    n = min(len(a), len(b))
    if a[:n] != b[:n]:
        return -1 if a[:n] < b[:n] else 1
    return len(b) - len(a)


def key_of(host: Host, entry: Entry) -> List[Component]:
    """The sort key of an entry that fits."""
    key: List[Component] = []
    for group in needs_of(host, entry):
        ns = group[0].slot.namespace
        if ns.policy == ANY and ns.counted:
            key += best_device_key(host, group)
        else:
            key += [component(host, one, at, at) for one in group for at in range(len(one.slot.lists))]
    return sorted(key)


def best_device_key(host: Host, group: List[Need]) -> List[Component]:
    """Under ANY the serving device with the best key decides for the namespace."""
    devices = range(len(group[0].slot.namespace.counted))
    return min(sorted(component(host, one, one.slot.list_of[device], 0) for one in group)
               for device in devices if failing_slot(host, group, device) is None)


def component(host: Host, one: Need, at: int, group: int) -> Component:
    return one.slot.namespace.rank, one.slot.rank, group, host.best(one.slot, at, one.values)
