# SPDX-License-Identifier: LGPL-3.0-or-later
"""Which images a host runs by operating system, architecture and variant, as containerd's platforms.Only has it."""
from __future__ import annotations

import re
from dataclasses import dataclass
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


ARCHITECTURE_ALIASES = {"i386": "386", "i686": "386", "x86": "386", "x86_64": "amd64", "x86-64": "amd64",
                        "aarch64": "arm64", "armhf": "arm", "armel": "arm", "loongarch64": "loong64"}
ARM_ALIASES = {"armhf": "v7", "armel": "v6"}
# What containerd calls them, for (ARCHITECTURE, VARIANT).
VARIANT_ALIASES = {("amd64", "v1"): "", ("arm64", "8"): "", ("arm64", "v8"): "", ("arm64", "v8.0"): "",
                   ("arm64", "9"): "v9", ("arm64", "9.0"): "v9", ("arm64", "v9.0"): "v9", ("arm", ""): "v7",
                   ("arm", "5"): "v5", ("arm", "6"): "v6", ("arm", "7"): "v7", ("arm", "8"): "v8"}
# The architecture whose images run as well, behind the host's own.
COMPATIBLE = {"amd64": "386", "arm64": "arm"}
_ARM64_FORM = re.compile(r"v([89])(?:\.([0-9]))?")


def match_platform(host: Platform, entry: Platform) -> Tuple[int, str]:
    """The place of an entry's variant in the host's order, 0 the best. Where the entry does not run there the code
    says why: PLATFORM, PLATFORM_VARIANT or OS_FEATURES."""
    architecture = normal_architecture(entry.architecture)
    if host.os != entry.os or architecture_turn(host, entry) < 0:
        return -1, code.PLATFORM
    order = variant_order("arm", "v8")  # on arm64
    if architecture == normal_architecture(host.architecture):
        order = variant_order(architecture, normal_variant(host))
    elif architecture == "386":
        order = [""]
    variant = normal_variant(entry)
    if variant not in order:
        return -1, code.PLATFORM_VARIANT
    if not set(entry.os_features) <= set(host.os_features):
        return -1, code.OS_FEATURES
    return order.index(variant), code.NONE


def architecture_turn(host: Platform, entry: Platform) -> int:
    """0 for the host's own architecture, 1 for the compatible one and -1 for others."""
    own, other = normal_architecture(host.architecture), normal_architecture(entry.architecture)
    if own == other:
        return 0
    return 1 if COMPATIBLE.get(own) == other else -1


def variant_order(architecture: str, host: str) -> List[str]:
    """The variants of the host's architecture that it runs, best first. An entry that asks for nothing special runs
    everywhere."""
    if architecture == "amd64" and re.fullmatch("v[2-4]", host):
        return descending("v", int(host[1]), 2) + [""]
    if architecture == "arm" and re.fullmatch("v[5-8]", host):
        return descending("v", int(host[1]), 5)
    if architecture == "arm64" and _ARM64_FORM.fullmatch(host):
        return arm64_order(host)
    return [host, ""] if host else [""]


def arm64_order(host: str) -> List[str]:
    """v9.k to v9, v8.(5+k) to v8.1 and v8, which is no variant; v9.4 and newer include v8.9."""
    version = _ARM64_FORM.fullmatch(host)
    assert version
    minor = int(version[2] or 0)
    if version[1] == "8":
        return descending("v8.", minor, 1) + [""]
    return descending("v9.", minor, 1) + ["v9"] + descending("v8.", min(minor + 5, 9), 1) + [""]


def descending(prefix: str, first: int, last: int) -> List[str]:
    return [f"{prefix}{number}" for number in range(first, last - 1, -1)]


def normal_architecture(architecture: str) -> str:
    return ARCHITECTURE_ALIASES.get(architecture, architecture)


def normal_variant(platform: Platform) -> str:
    """containerd's normal form: "armhf" and "armel" are versions of arm, and "x-..." is none."""
    if platform.architecture in ARM_ALIASES:
        return ARM_ALIASES[platform.architecture]
    architecture = normal_architecture(platform.architecture)
    variant = "" if is_hidden(platform.variant) else platform.variant
    return VARIANT_ALIASES.get((architecture, variant), variant)


def hidden_variant(label: str) -> str:
    """The platform.variant that hides the entry of a label from clients that know nothing of variants."""
    return "x-" + label.replace(".", "-")


def is_hidden(variant: str) -> bool:
    return variant.startswith("x-")
