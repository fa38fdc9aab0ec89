# SPDX-License-Identifier: LGPL-3.0-or-later
"""Which images a host runs by operating system, architecture and variant, as containerd's platforms.Only has it."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import List, Tuple

from . import code


@dataclass(frozen=True)
class Platform:
    """The fields of an OCI descriptor's platform. As a host's, os_features are those that its administrator says it
    has."""
    os: str = ""
    architecture: str = ""
    variant: str = ""
    os_version: str = ""
    os_features: Tuple[str, ...] = ()

    def normal(self) -> Platform:
        """containerd's normal form: "armhf" and "armel" are versions of arm, and the variant "x-..." is none."""
        architecture = ARCHITECTURE_ALIASES.get(self.architecture, self.architecture)
        variant = ARM_ALIASES.get(self.architecture, "" if is_hidden(self.variant) else self.variant)
        return replace(self, architecture=architecture, variant=VARIANT_ALIASES.get((architecture, variant), variant))


ARCHITECTURE_ALIASES = {"i386": "386", "i686": "386", "x86": "386", "x86_64": "amd64", "x86-64": "amd64",
                        "aarch64": "arm64", "armhf": "arm", "armel": "arm", "loongarch64": "loong64"}
ARM_ALIASES = {"armhf": "v7", "armel": "v6"}
# What containerd calls them, for (ARCHITECTURE, VARIANT).
VARIANT_ALIASES = {("amd64", "v1"): "", ("arm64", "8"): "", ("arm64", "v8"): "", ("arm64", "v8.0"): "",
                   ("arm64", "9"): "v9", ("arm64", "9.0"): "v9", ("arm64", "v9.0"): "v9", ("arm", ""): "v7",
                   ("arm", "5"): "v5", ("arm", "6"): "v6", ("arm", "7"): "v7", ("arm", "8"): "v8"}
# (HOST, ENTRY): what a host of one architecture runs of another.
COMPATIBLE = {("amd64", "386"): [""], ("arm64", "arm"): ["v8", "v7", "v6", "v5"]}
# Variants of which each runs on a host of one before it.
LADDERS = {"amd64": ["v4", "v3", "v2", ""], "arm": ["v8", "v7", "v6", "v5"],
           "arm64": [f"v8.{minor}" for minor in range(9, 0, -1)] + [""]}
ARM64_V9 = [f"v9.{minor}" for minor in range(9, 0, -1)] + ["v9"]


def match_platform(host: Platform, entry: Platform) -> Tuple[int, str]:
    """The place of an entry's variant in the host's order, 0 the best. Where the entry does not run there the code
    says why: PLATFORM, PLATFORM_VARIANT or OS_FEATURES."""
    host, entry = host.normal(), entry.normal()
    order = variant_order(host.architecture, host.variant)
    if host.architecture != entry.architecture:
        order = COMPATIBLE.get((host.architecture, entry.architecture), [])
    if host.os != entry.os or not order:
        return -1, code.PLATFORM
    if entry.variant not in order:
        return -1, code.PLATFORM_VARIANT
    if not set(entry.os_features) <= set(host.os_features):
        return -1, code.OS_FEATURES
    return order.index(entry.variant), code.NONE


def variant_order(architecture: str, host: str) -> List[str]:
    """The variants that run on the host, best first. An entry that asks for nothing special runs everywhere."""
    ladder = LADDERS.get(architecture, [])
    if architecture == "arm64" and host in ARM64_V9:
        place = ARM64_V9.index(host)
        return ARM64_V9[place:] + ladder[max(place - 5, 0):]  # v9.N includes v8.(N+5)
    if host in ladder:
        return ladder[ladder.index(host):]
    return [host, ""] if host else [""]


def hidden_variant(label: str) -> str:
    """The platform.variant that hides the entry of a label from clients that know nothing of variants."""
    return "x-" + label.replace(".", "-")


def is_hidden(variant: str) -> bool:
    return variant.startswith("x-")
