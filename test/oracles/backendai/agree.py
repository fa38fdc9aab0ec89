# SPDX-License-Identifier: GPL-3.0-or-later
"""What Backend.AI's ImageRef made of references (a file, JSON Lines) against what `variantctl tags parse --format json` makes
of them (standard input): each part that it sees is one to us, and no other is. Prints how many were compared, and how many
name devices.  agree.py FILE"""

import json
import sys

# the namespace of the properties that a key stands for
MEANS = {"cuda": "nvidia", "rocm": "amd", "atom": "rebellions", "atommax": "rebellions", "atom_max": "rebellions",
         "warboy": "furiosa", "rngd": "furiosa", "renegade": "furiosa", "gaudi": "habana"}


def check_device(reference, key, version, ours):
    found = [p.split(" :: ")[1:] for p in ours["properties"] if p.startswith(MEANS[key] + " :: ")]
    assert found or ours.get("refused"), (reference, key)
    if key == "cuda" and version:
        full = version if "." in version else version + ".0"
        assert ["cuda_version_lower_bound", full] in found, (reference, version, found)


def check(theirs, ours):
    reference, tags = theirs["reference"], theirs["tags"]
    for key, version in tags.items():
        if key in MEANS:
            check_device(reference, key, version, ours)
        elif key == "py":
            assert ours["group"].get("python") == f"{version[0]}.{version[1:]}", (reference, version)
        elif key in ("ubuntu", "centos", "alpine", "debian"):
            assert ours["group"].get("os", "").startswith(key) and version in ours["group"]["os"], (reference, key)
    devices = {MEANS[k] for k in MEANS if k in tags or theirs["main"].startswith(k)}
    named = {p.split(" :: ")[0] for p in ours["properties"]}
    assert named <= devices, (reference, named, devices)
    return bool(named)


with open(sys.argv[1]) as file:
    recorded = {line["reference"]: line for line in map(json.loads, file)}
parsed = [json.loads(line) for line in sys.stdin]
assert {p["reference"] for p in parsed} == set(recorded)
print(len(parsed), sum(check(recorded[p["reference"]], p) for p in parsed))
