#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Published wheels, read by us and by their makers' tools: every set of targets has to be equal.

    check.py [--delete] SCANNER DIRECTORY [WHEEL...]
    check.py --fetch DIRECTORY [WHEEL...]

Without WHEEL, parts of file names, all are read. DIRECTORY keeps what is fetched, unless --delete is given;
with --fetch nothing is read. test/wheels/wheels.txt names the wheels by
version and SHA-256; NVIDIA's cuobjdump, one of them, judges CUDA code, clang-offload-bundler (Debian:
clang-19) ROCm's bundles. That of LLVM 19 does not read compressed bundles of version 3: they are
inflated here, by the zstd program, and it reads the list in them. A library that the judge itself
cannot read is counted, named and a failure."""
import collections
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

import slim

HERE = os.path.dirname(os.path.abspath(__file__))
# cuobjdump, and the one of CUDA 12.4, which reads older libraries that the newer one refuses
JUDGES = ("nvidia-cuda-cuobjdump", "triton==3.1.0")


def wheels():
    """(requirement, file name, sha256) of each line."""
    with open(f"{HERE}/wheels.txt", encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                yield line.split()


def fetch(requirement, name, digest, directory):
    """The wheel's path, or None where the registry is not reached."""
    path = f"{directory}/{name}"
    if not os.path.exists(path):
        # an abi3 wheel is tagged with the oldest Python of its interface, which its release may no
        # longer support
        python = re.search(r"-cp(3\d+)-", name)
        version = ["--python-version", "312" if "-abi3-" in name else python[1]] if python else []
        # one platform after the other: if a version has two files that both run there, pip accepts
        # either
        for platform in reversed(name.rsplit("-", 1)[1][:-len(".whl")].split(".")):
            if not os.path.exists(path):
                subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:",
                                "-d", directory, "--platform", platform, *version, requirement], check=False)
    if not os.path.exists(path):
        return None
    with open(path, "rb") as wheel:
        if hashlib.file_digest(wheel, "sha256").hexdigest() != digest:
            sys.exit(f"{name}: its SHA-256 is another one")
    return path


def ours(scanner, path):
    """Sets of CUDA machine code, PTX and ROCm targets of a file."""
    out = subprocess.run([scanner, path], check=True, capture_output=True, text=True).stdout
    facts = collections.defaultdict(set)
    for file in json.loads(out)["files"]:
        for fact in file["facts"]:
            facts[fact["fact"]].add(fact["value"])
    return facts


def cuda(judges, path):
    """What the first cuobjdump that can read the file lists of machine code and PTX; None: no one can."""
    return next((sets for sets in (cuda_by(judge, path) for judge in judges) if sets is not None), None)


def cuda_by(cuobjdump, path):
    """The same of one of them."""
    sets = []
    for option, pattern in (("--list-elf", r"\.sm_(\w+)\.cubin"), ("--list-ptx", r"\.(?:sm|compute)_(\w+)\.ptx")):
        run = subprocess.run([cuobjdump, "-all", option, path], check=False, capture_output=True, text=True)
        if run.returncode != 0 and "does not contain device code" not in run.stdout + run.stderr:
            return None
        sets.append(set(re.findall(pattern, run.stdout)))
    return sets


def plain(bundle):
    """What LLVM 19 reads of a compressed bundle: of version 2 no byte behind its end, of version 3 the bundle
    that is in it. Headers: magic, u16 version, u16 method (0 zlib, 1 zstd), size, size of what is in it (u32
    each, in version 3 u64), u64 hash."""
    version, method = struct.unpack_from("<HH", bundle, 4) if bundle[:4] == b"CCOB" else (0, 0)
    if version == 2:
        return bundle[:struct.unpack_from("<I", bundle, 8)[0]]
    if version != 3:
        return bundle
    size, inflated = struct.unpack_from("<QQ", bundle, 8)
    body = bundle[32:size]
    data = zlib.decompress(body) if method == 0 else \
        subprocess.run(["zstd", "-dcq"], check=True, input=body, capture_output=True).stdout
    if len(data) != inflated:
        sys.exit(f"a compressed bundle of {inflated} bytes holds {len(data)}")
    return data


def bundles(bundler, objcopy, path):
    """What clang-offload-bundler lists of the section .hip_fatbin; None: it cannot read it."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([objcopy, f"--dump-section=.hip_fatbin={place}/s", path, f"{place}/copy"], check=False,
                       capture_output=True)
        if not os.path.exists(f"{place}/s"):
            return set()
        found = set()
        with open(f"{place}/s", "rb") as section:
            data = section.read()
        starts = [m.start() for m in re.finditer(rb"__CLANG_OFFLOAD_BUNDLE__|CCOB[\1-\3]\0", data) if m.start() % 4096 == 0]
        for begin, end in zip(starts, starts[1:] + [len(data)]):
            with open(f"{place}/b", "wb") as one:
                one.write(plain(data[begin:end]))
            run = subprocess.run([bundler, "--list", "--type=o", f"--input={place}/b"], check=False,
                                 capture_output=True, text=True)
            if run.returncode != 0:
                return None
            found |= set(re.findall(r"^hip\S*-amdgcn-amd-amdhsa-{1,2}(\S+)$", run.stdout, re.M))
        return found


def as_listed(code, judged):
    """Both sides as cuobjdump's list can write them: it leaves out the f of sm_100f, and gives old
    chips (below sm_90) an a that there is not."""
    return ({value.rstrip("f") for value in code},
            {re.sub(r"^([1-8]\d)a$", r"\1", value) for value in judged})


class Count:
    """What came of all libraries."""
    wheels = libraries = objects = equal = unread = 0
    different = []
    faults = 0  # of what slim made of them


def compare(count, tools, path, called):
    """One library."""
    facts = ours(tools["scanner"], path)
    facts["cuda-code"] |= facts["cuda-empty"]  # cuobjdump lists both
    hip, code = facts["hip-code"], facts["cuda-code"] | facts["cuda-ptx"]
    judged = cuda(tools["cuobjdump"], path)
    if judged is not None and not code and not any(judged) and not hip:
        return
    if called.endswith((".cubin", ".fatbin")):
        count.objects += 1
    else:
        count.libraries += 1
    theirs = bundles(tools["bundler"], tools["objcopy"], path) if hip and tools["bundler"] else set()
    if (judged is None and code) or theirs is None or (hip and not tools["bundler"]):
        count.unread += 1
        print(f"not judged {called}: {' '.join(sorted(code | hip))}")
        return
    machine, listed = as_listed(facts["cuda-code"], judged[0] if judged else ())
    same = judged is None or (machine == listed and judged[1] == facts["cuda-ptx"])
    if same and (not hip or theirs == hip):
        count.equal += 1
    else:
        count.different.append(called)
        print(f"DIFFERENT {called}: ours {sorted(facts['cuda-code'])} {sorted(facts['cuda-ptx'])} {sorted(hip)}, "
              f"theirs {judged} {sorted(theirs)}")


def check_wheel(count, tools, path):
    """All files of a wheel that may have code."""
    count.wheels += 1
    with zipfile.ZipFile(path) as wheel, tempfile.TemporaryDirectory() as place:
        for member in wheel.infolist():
            if not re.search(r"\.so(\.[\d.]+)?$|\.(cubin|fatbin)$", member.filename):
                continue
            with wheel.open(member) as source, open(f"{place}/library", "wb") as copy:
                if source.read(4) != b"\x7fELF" and not member.filename.endswith("bin"):
                    continue
                source.seek(0)
                shutil.copyfileobj(source, copy, 1 << 20)
            called = f"{os.path.basename(path)}: {member.filename}"
            compare(count, tools, f"{place}/library", called)
            for fault in slim.judge(tools["scanner"], tools["cuobjdump"][0], f"{place}/library", called):
                print(f"FAULT {called}: {fault}")
                count.faults += 1


def judge(line, directory):
    """The cuobjdump of a wheel."""
    path = fetch(*line, directory)
    if not path:
        sys.exit("the wheels' registry is not reached")
    program = f"{directory}/cuobjdump-{line[0]}"
    with zipfile.ZipFile(path) as wheel, open(program, "wb") as copy:
        copy.write(wheel.read(next(n for n in wheel.namelist() if n.endswith("bin/cuobjdump"))))
    os.chmod(program, 0o755)
    return program


def find(*names):
    """The first program that is there."""
    return next((path for path in map(shutil.which, names) if path), None)


def check(delete, listed, scanner, directory, wanted):
    """Read them, and say what came of it: the exit status."""
    tools = {"scanner": scanner, "bundler": find("clang-offload-bundler-19", "clang-offload-bundler"),
             "objcopy": find("llvm-objcopy-19", "llvm-objcopy", "objcopy"),
             "cuobjdump": [judge(line, directory) for line in listed if line[0].startswith(JUDGES)]}
    count, missing = Count(), []
    for requirement, name, digest in listed:
        if requirement.startswith(JUDGES) or not is_wanted(name, wanted):
            continue
        path = fetch(requirement, name, digest, directory)
        if path:
            check_wheel(count, tools, path)
            if delete:
                os.unlink(path)
        else:
            missing.append(requirement)
    print(f"{count.wheels} wheels, {count.libraries} libraries and {count.objects} objects with device code: "
          f"{count.equal} equal, {len(count.different)} different, {count.unread} that the judge cannot read, "
          f"{count.faults} faults of slim, {len(missing)} wheels not fetched {' '.join(missing)}")
    return 1 if count.different or count.unread or count.faults or missing else 0


def is_wanted(name, wanted):
    """No WHEEL means all."""
    return not wanted or any(part in name for part in wanted)


def main(*arguments):
    options = {a for a in arguments if a.startswith("--")}
    words = [a for a in arguments if a not in options]
    listed = list(wheels())
    os.makedirs(words[0 if "--fetch" in options else 1], exist_ok=True)
    if "--fetch" not in options:
        return check("--delete" in options, listed, words[0], words[1], words[2:])
    missing = [line[0] for line in listed if is_wanted(line[1], words[1:]) and not fetch(*line, words[0])]
    print(f"not fetched: {' '.join(missing)}" if missing else "fetched")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
