#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Libraries of ROCm wheels, split by the format's own packer: derive finds in the library and its archives what it
found in the whole library, and without an archive nothing of that archive's GPU.

    PYTHONPATH=rocm-kpack/python python3 test/wheels/kpack.py VARIANTCTL LIBRARY|WHEEL...

Needs Python 3.12, msgpack, zstandard, clang-offload-bundler, and https://github.com/ROCm/rocm-kpack. Prints a line a
library; exit status 1 at a difference, and where nothing was compared."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

from rocm_kpack.kpack import PackedKernelArchive

GPUS = ("hip-code",)


def derive(variantctl, path):
    """What derive says of a directory: its GPUs' targets, and the files that it could not look into."""
    run = subprocess.run([variantctl, "derive", "--format", "json", path], check=True, capture_output=True, text=True)
    image = json.loads(run.stdout)["images"][0]
    return {t["value"] for t in image["targets"] if t["fact"] in GPUS}, run.stdout


def split(library, place):
    """The packer's work: the host's tree, and its archives by GPU."""
    stage = f"{place}/x_lib_all/stage/lib"
    os.makedirs(stage)
    shutil.copy(library, f"{stage}/{os.path.basename(library)}")
    with open(f"{place}/x_lib_all/artifact_manifest.txt", "w", encoding="utf-8") as manifest:
        manifest.write("stage\n")
    subprocess.run([sys.executable, "-m", "rocm_kpack.tools.split_artifacts", "--artifact-dir", f"{place}/x_lib_all",
                    "--output-dir", f"{place}/out", "--artifact-prefix", "x_lib"], check=True, stdout=subprocess.DEVNULL)
    archives = {}
    for name in sorted(os.listdir(f"{place}/out")):
        gpu = name.removeprefix("x_lib_")
        if gpu != "generic":
            archives[gpu] = f"{place}/out/{name}/stage/.kpack/{name}.kpack"
    return f"{place}/out/x_lib_generic/stage", archives


def judge(variantctl, library):
    """The differences, as sentences, and how many GPUs were compared."""
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(f"{place}/fat")
        shutil.copy(library, f"{place}/fat")
        fat, _ = derive(variantctl, f"{place}/fat")
        tree, archives = split(library, place)
        faults = []

        # what the packer's own reader finds in an archive is what its name says
        for gpu, path in archives.items():
            table = PackedKernelArchive.read(pathlib.Path(path)).toc
            listed = {arch for kernels in table.values() for arch in kernels}
            if listed != {gpu}:
                faults.append(f"the archive of {gpu} lists {sorted(listed)}")

        def with_archives(names):
            shutil.rmtree(f"{tree}/.kpack", ignore_errors=True)
            os.makedirs(f"{tree}/.kpack")
            for gpu in names:
                shutil.copy(archives[gpu], f"{tree}/.kpack")
            return derive(variantctl, tree)

        # features (xnack, sramecc) are not in an archive's name
        plain = {target.partition(":")[0] for target in fat}
        found, _ = with_archives(archives)
        if {t.partition(":")[0] for t in found} != plain or set(archives) != plain:
            faults.append(f"whole {sorted(fat)}, split {sorted(found)}, archives {sorted(archives)}")
        for gpu in archives:
            found, _ = with_archives([gpu])
            if {t.partition(":")[0] for t in found} != {gpu}:
                faults.append(f"with the archive of {gpu} alone: {sorted(found)}")
            found, _ = with_archives([other for other in archives if other != gpu])
            if {t.partition(":")[0] for t in found} != plain - {gpu}:
                faults.append(f"without the archive of {gpu}: {sorted(found)}")
        found, said = with_archives([])
        if found or ".kpack archives" not in said:
            faults.append(f"without archives: {sorted(found)}, and it is not said")
        return faults, len(archives)


def libraries(path, place):
    """A library itself, or those of a wheel."""
    if not path.endswith(".whl"):
        yield path
        return
    with zipfile.ZipFile(path) as wheel:
        for member in wheel.namelist():
            if member.endswith(".so") and b".hip_fatbin" in wheel.read(member):
                yield wheel.extract(member, place)


def main(variantctl, *paths):
    compared, different = 0, 0
    with tempfile.TemporaryDirectory() as place:
        for path in paths:
            for library in libraries(path, place):
                faults, gpus = judge(variantctl, library)
                print(f"{os.path.basename(library)}: {gpus} GPUs, {'; '.join(faults) or 'equal'}", flush=True)
                compared += gpus > 0
                different += bool(faults)
    print(f"{compared} libraries compared, {different} different")
    return 1 if different or not compared else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
