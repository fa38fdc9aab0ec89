#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The build that this machine takes, by variantctl and by uv, which has the wheel variants of PEP 825 and its own NVIDIA
and x86-64 providers.

    VARIANTCTL=build/variantctl UV=uv python3 test/oracles/order_uv.py [CASES] [SEED]

Needs uv 0.13.9 or newer (PyPI). In each case both are told the same driver and GPU, by the providers' variables, and get
the same builds at random: uv as wheels with the properties in them, variantctl as an index with what it probes as profile.
Prints the number of cases and the seed; exit status 1 at the first difference, with its input."""
import json
import os
import random
import subprocess
import sys
import tempfile
import zipfile

from ours import VARIANTCTL, index_of, order_of

SCHEMA = "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json"
PROVIDERS = {"nvidia": {"requires": ["nvidia-variant-provider"], "plugin-api": "nvidia_variant_provider.plugin:NvidiaVariantPlugin"},
             "x86_64": {"requires": ["x86-64-variant-provider"]}}
VALUES = {("nvidia", "cuda_version_lower_bound"): ["11.8", "12.0", "12.6", "12.8", "13.0"],
          ("nvidia", "cuda_version_upper_bound"): ["12", "13", "12.8", "13.0"],
          # of PTX uv's provider has that of the GPU's own major version alone
          ("nvidia", "sm_arch"): ["70_real", "75_real", "80_real", "86_real", "89_real", "90_real", "100_real", "120_real"],
          ("x86_64", "level"): ["v1", "v2", "v3", "v4"]}  # all that uv's provider has
UV = os.environ.get("UV", "uv")


def random_build(r):
    build = {}
    for ns, feature in r.sample(sorted(VALUES), r.randint(1, 3)):
        values = VALUES[ns, feature]
        n = r.randint(1, 3) if feature == "sm_arch" else 1
        build.setdefault(ns, {})[feature] = sorted(r.sample(values, min(n, len(values))))
    return build


def write_wheel(directory, label, metadata):
    info = "subject-1.0.dist-info"
    files = {"subject.py": label, f"{info}/METADATA": "Metadata-Version: 2.1\nName: subject\nVersion: 1.0\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    if label != "null":
        files[f"{info}/variant.json"] = json.dumps(dict(metadata, variants={label: metadata["variants"][label]}))
    name = "subject-1.0-py3-none-any" + ("" if label == "null" else f"-{label}")
    with zipfile.ZipFile(f"{directory}/{name}.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"]))


def theirs(builds, listed, env, directory):
    wheels, target = f"{directory}/wheels", f"{directory}/target"
    os.mkdir(wheels)
    metadata = {"$schema": SCHEMA, "default-priorities": {"namespace": listed}, "providers": {ns: PROVIDERS[ns] for ns in listed},
                "variants": {label: build for label, build in builds.items() if label != "null"}}
    for label in builds:
        write_wheel(wheels, label, metadata)
    with open(f"{wheels}/subject-1.0-variants.json", "w") as file:
        json.dump(metadata, file)
    done = subprocess.run([UV, "pip", "install", "--preview-features", "wheel-variants", "--no-index", "--find-links", wheels,
                           "--target", target, "--no-cache", "--no-config", "--python", sys.executable, "subject"],
                          capture_output=True, text=True, env=env)
    if done.returncode:
        if "subject" not in done.stderr:
            sys.exit(f"uv: {done.stderr}")
        return None
    with open(f"{target}/subject.py") as file:
        return file.read()


def ours(builds, listed, env, directory):
    triples = {label: {(ns, f, v) for ns, fs in build.items() for f, vs in fs.items() for v in vs} for label, build in builds.items()}
    with open(f"{directory}/profile.json", "w") as file:
        subprocess.run([VARIANTCTL, "probe", "--json"], check=True, stdout=file, env=env)
    return next(iter(order_of(index_of(triples, listed), file.name, directory)), None)


def main():
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 30)
    r = random.Random(seed)
    chosen = 0
    for case in range(cases):
        env = dict(os.environ, NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION=r.choice(["11.8", "12.2", "12.8", "12.9", "13.0"]),
                   NV_VARIANT_PROVIDER_FORCE_SM_ARCH=r.choice(["7.5", "8.0", "8.6", "8.9", "9.0", "12.0"]))
        listed = r.choice([["nvidia", "x86_64"], ["x86_64", "nvidia"]])
        builds = {f"b{i}": random_build(r) for i in range(r.randint(1, 8))}
        if r.random() < 0.7:
            builds["null"] = {}
        with tempfile.TemporaryDirectory() as directory:
            winner = ours(builds, listed, env, directory)
            wanted = theirs(builds, listed, env, directory)
        chosen += wanted not in (None, "null")
        if winner != wanted:
            told = {key: value for key, value in env.items() if key.startswith("NV_VARIANT")}
            sys.exit(f"seed {seed}, case {case}: {winner}, uv: {wanted}\n{json.dumps(told)}\n{json.dumps(listed)}\n{json.dumps(builds, indent=1)}")
    print(f"{cases} cases, {chosen} with a build that fits, 0 differences (seed {seed})")


main()
