# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the user asks for beside the host's profile."""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Dict, List, Optional

from .errors import InvalidError
from .platform import Platform
from .property import NAME_GRAMMAR, readable_label, split_selector

# Which devices of a namespace a variant must fit: all that count, any one, or the first, which is the most capable.
ALL, ANY, FIRST = "all", "any", "first"


@dataclass(frozen=True)
class Options:
    """Without arguments: nothing special."""
    namespace_priority: List[str] = field(default_factory=list)  # first these, then the index's order
    disable: List[str] = field(default_factory=list)  # as if the host lacked it: "ns", "ns :: feature", "... :: value"
    require: List[str] = field(default_factory=list)  # written likewise: only entries that use each of them
    device_policy: Dict[str, str] = field(default_factory=dict)  # by namespace; ALL where it is not set
    devices: Dict[str, List[str]] = field(default_factory=dict)  # by namespace, those that count: index, PCI address, UUID
    label: Optional[str] = None  # only this variant; "null": the default, labelled so or not
    platform: Optional[Platform] = None  # instead of the profile's

    def normal(self) -> Options:
        """A copy with canonical spacing; bad syntax is an InvalidError."""
        bad = [one for one in self.disable + self.require if not split_selector(one)]
        bad += [policy for policy in self.device_policy.values() if policy not in (ALL, ANY, FIRST)]
        bad += [name for name, ids in self.devices.items() if "" in ids]
        bad += [name for name in [*self.namespace_priority, *self.device_policy, *self.devices]
                if not NAME_GRAMMAR.fullmatch(name)]
        bad += [self.label] if self.label is not None and not readable_label(self.label) else []
        if bad:
            raise InvalidError(f"option '{bad[0]}'")
        return replace(self, disable=normal_selectors(self.disable), require=normal_selectors(self.require))


def normal_selectors(selectors: List[str]) -> List[str]:
    return [" :: ".join(split_selector(selector)) for selector in selectors]
