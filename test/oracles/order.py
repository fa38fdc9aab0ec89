#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of an index's builds, by variantctl and by variantlib, the reference implementation of PEP 825.

    VARIANTCTL=build/variantctl python3 test/oracles/order.py [CASES] [SEED]

Needs variantlib 0.2.2 or newer (PyPI). Each case is an index and a profile at random: namespaces, of which the index
lists some in its order; features and values, of which the host has some in its order; builds without properties, with
several values of a feature, and with namespaces that the host or the list lacks. Prints the number of cases and the
seed; exit status 1 at the first difference, with its input."""
import json
import os
import random
import sys
import tempfile

from ours import index_of, order_of
from variantlib.models.variant import VariantDescription, VariantProperty
from variantlib.resolver.lib import sort_and_filter_supported_variants

NAMESPACES = ["alpha", "beta", "gamma", "delta"]
FEATURES = ["arch", "level", "driver"]
VALUES = ["1", "2.1", "10", "b_c"]


def some(r, things, least=0):
    return r.sample(things, r.randint(least, len(things)))


def random_host(r):
    return {ns: {f: some(r, VALUES, r.choice((0, 2, 3))) for f in some(r, FEATURES, 2)} for ns in some(r, NAMESPACES, 2)}


def random_build(r):
    return frozenset((ns, f, v) for ns in some(r, NAMESPACES)[:r.choice((1, 2))] for f in some(r, FEATURES, 1)[:2]
                     for v in some(r, VALUES, 1)[:2])


def theirs(builds, listed, host):
    supported = [VariantProperty(ns, f, v) for ns, fs in host.items() for f, vs in fs.items() for v in vs]
    described = [VariantDescription(properties=[VariantProperty(*p) for p in sorted(props)], label=label)
                 for label, props in builds.items()]
    # a namespace that is not listed makes a build incompatible: its properties are not supported
    supported = [p for p in supported if p.namespace in listed]
    ordered = sort_and_filter_supported_variants(described, supported, list(listed))
    return [d.label for d in ordered if d.label in builds]  # it adds a null variant where there is none


def ours(builds, listed, host, directory):
    index = index_of(builds, listed)
    profile = {"schema": "dev.ocivariant.profile/v1", "platform": {"os": "linux", "architecture": "amd64"},
               "namespaces": [{"namespace": ns, "features": [{"name": f, "values": vs} for f, vs in fs.items()]}
                              for ns, fs in host.items()]}
    path = os.path.join(directory, "profile.json")
    with open(path, "w") as file:
        json.dump(profile, file)
    return order_of(index, path, directory), index, profile


def main():
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 30)
    r = random.Random(seed)
    chosen = 0
    with tempfile.TemporaryDirectory() as directory:
        for case in range(cases):
            listed, host = some(r, NAMESPACES, 2), random_host(r)
            distinct = list({random_build(r) for _ in range(r.randint(1, 16))} - {frozenset()})
            builds = {f"b{i}": props for i, props in enumerate(sorted(distinct, key=sorted))}
            if r.random() < 0.8:
                builds["null"] = frozenset()
            labels = list(builds)
            r.shuffle(labels)
            builds = {label: builds[label] for label in labels}
            order, index, profile = ours(builds, listed, host, directory)
            wanted = theirs(builds, listed, host)
            chosen += any(label != "null" for label in order)
            if order != wanted:
                sys.exit(f"seed {seed}, case {case}: {order}, variantlib: {wanted}\n{json.dumps(index)}\n{json.dumps(profile)}")
    print(f"{cases} cases, {chosen} with a build that fits, 0 differences (seed {seed})")


main()
