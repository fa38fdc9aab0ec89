#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `variantctl slim` makes of published libraries, read by others.

    slim.py SCANNER CUOBJDUMP LIBRARY...

Each library is cut for three targets. Then NVIDIA's cuobjdump extracts machine code of both, and all that is left has to be in
the original, byte for byte; a second reader walks the fat binaries, and nothing is left but what the rules of docs/slim.md name;
readelf and eu-elflint (elfutils, where it is installed) have no more to say than before; and every section but those of device code and of pointers to it is as
it was."""
import collections
import hashlib
import io
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib

import load

TARGETS = (80, 90, 120)
GFX = ("gfx942", "gfx90a", "gfx1100")
DEVICE = (".nv_fatbin", "__nv_relfatbin", ".hip_fatbin")
MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
TEGRA = (32, 53, 62, 72, 87, 101, 110)
PTX, CODE, IR = 1, 2, 8


def cut(scanner, path, target):
    """The library's bytes for one target, by the program that slim runs on a layer."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.add(path, "lib.so", recursive=False)
    with tempfile.TemporaryFile() as source:
        source.write(b"8\n+lib.so\0" + layer.getvalue())
        source.seek(0)
        run = subprocess.run([scanner, "--slim", target, tempfile.gettempdir()], stdin=source, check=True,
                             capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(run.stdout)) as tar:
        return tar.extractfile("lib.so").read(), run.stderr.decode()


def sections(data):
    """{name: (type, address, offset, size)}; names that stand twice get a number."""
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    strings, found = rows[names][4], {}
    for i, row in enumerate(rows):
        end = data.index(b"\0", strings + row[0])
        name = data[strings + row[0]:end].decode()
        found[name if name not in found else f"{name} {i}"] = (row[1], row[3], row[4], row[5])
    return found


def regions(data):
    """[(kind, architecture, letter, bytes)] of each fat binary in the sections for device code."""
    for name, (_, _, offset, size) in sections(data).items():
        at, end = offset, offset + size
        while name in DEVICE[:2] and at < end:
            if data[at:at + 4] != b"\x50\xed\x55\xba":
                if data[at]:
                    sys.exit(f"{name}: neither a fat binary nor zeros at {at:#x}")
                at += 1
                continue
            stop = at + 16 + struct.unpack_from("<Q", data, at + 8)[0]
            entries, at = [], at + 16
            while at < stop:
                kind, = struct.unpack_from("<H", data, at)
                header, = struct.unpack_from("<I", data, at + 4)
                length, = struct.unpack_from("<Q", data, at + 8)
                arch, = struct.unpack_from("<I", data, at + 28)
                flags, = struct.unpack_from("<Q", data, at + 40)
                entries.append((kind, arch, "a" if flags & 0x100000 else "f" if flags & 0x200000 else "",
                                data[at:at + header + length]))
                at += header + length
            yield entries


def wanted(entries, target):
    """What the rules keep of one fat binary."""
    def best(kind, fits):
        numbers = [arch for k, arch, letter, _ in entries if k == kind and fits(arch, letter)]
        return max(numbers, default=None)

    def same_major(arch, letter):
        return arch == target if letter == "a" or arch in TEGRA else arch <= target and arch // 10 == target // 10

    def compiles(arch, letter):
        return same_major(arch, letter) if letter else arch <= target

    code, ptx = best(CODE, same_major), best(PTX, compiles)
    kept = [e for e in entries if e[0] == IR or (e[0] == CODE and e[1] == code and same_major(e[1], e[2])) or
            (code is None and e[0] == PTX and e[1] == ptx and compiles(e[1], e[2]))]
    return kept or sorted(entries, key=lambda e: len(e[3]))[:1]


def inflated(bundle):
    """(the bundle, bytes that it takes) of one that may be compressed, of which version, method and hash are true."""
    if bundle[:4] != b"CCOB":
        return bundle, None
    version, method = struct.unpack_from("<HH", bundle, 4)
    total, size = struct.unpack_from("<II" if version == 2 else "<QQ", bundle, 8)
    head = 24 if version == 2 else 32
    body = bundle[head:total]
    data = zlib.decompress(body) if method == 0 else \
        subprocess.run(["zstd", "-dcq"], check=True, input=body, capture_output=True).stdout
    if len(data) != size or hashlib.md5(data).digest()[:8] != bundle[head - 8:head]:
        sys.exit("a compressed bundle with a wrong size or hash")
    return data, total


def bundles(data):
    """[(how it is compressed, {name: bytes})] of each bundle in the section for code of AMD."""
    for name, (kind, _, offset, size) in sections(data).items():
        at, end = offset, offset + size
        while name == ".hip_fatbin" and kind != 8 and at < end:
            if data[at:at + 4] != b"CCOB" and data[at:at + 24] != MAGIC:
                if data[at]:
                    sys.exit(f"{name}: neither a bundle nor zeros at {at:#x}")
                at += 1
                continue
            bundle, total = inflated(data[at:end])
            count, = struct.unpack_from("<Q", bundle, 24)
            entries, row, last = {}, 32, 0
            for _ in range(count):
                start, length, letters = struct.unpack_from("<QQQ", bundle, row)
                entries[bundle[row + 24:row + 24 + letters].decode()] = bundle[start:start + length]
                last, row = max(last, start + length), row + 24 + letters
            yield data[at:at + 8] if total else b"", entries
            at += total or last


def kept_of_bundle(entries, gfx):
    """What the rules keep of a bundle."""
    def runs(name):
        gpu = name.rpartition("-gfx")[2] if "-generic" not in name else re.search(r"-gfx([0-9]+)-", name)[1]
        return "amdgcn" in name and (gpu.split(":")[0] == gfx[3:] if "-generic" not in name else gpu == gfx[3:-2])

    own = any(name.endswith("-" + gfx) for name in entries)
    kept = {name for name in entries if runs(name)} | {name for name in entries if "spirv" in name and not own} or \
        set(sorted((name for name in entries if not name.startswith("host")), key=lambda n: len(entries[n]))[:1])
    return {name: code for name, code in entries.items() if name in kept or name.startswith("host")}


def extracted(cuobjdump, path):
    """Hashes of the machine code that cuobjdump finds; None: it cannot read the file."""
    with tempfile.TemporaryDirectory() as place:
        run = subprocess.run([cuobjdump, "-all", "-xelf", "all", os.path.abspath(path)], cwd=place, check=False, capture_output=True)
        if run.returncode:
            return None
        found = collections.Counter()
        for name in os.listdir(place):
            with open(f"{place}/{name}", "rb") as file:
                found[hashlib.sha256(file.read()).hexdigest()] += 1
        return found


def complaints(path):
    """What readelf warns of, and how often eu-elflint says each thing, without names and numbers of segments."""
    warnings = subprocess.run(["readelf", "-aW", path], check=False, capture_output=True, text=True).stderr.count("Warning")
    lint = subprocess.run(["eu-elflint", "--gnu-ld", path], check=False, capture_output=True, text=True).stdout \
        if shutil.which("eu-elflint") else ""
    return warnings, collections.Counter(re.sub(r"[0-9\[\]]+", "", line) for line in lint.splitlines())


def judge(scanner, cuobjdump, path, called=None):
    """Faults of one library: texts."""
    with open(path, "rb") as file:
        original = file.read()
    if original[:4] != b"\x7fELF" or not any(name in DEVICE for name in sections(original)):
        return
    before, said, theirs = list(regions(original)), complaints(path), extracted(cuobjdump, path)
    codes = list(bundles(original))
    place = tempfile.mkdtemp()
    loader = load.Loader(place, path)
    before_it = loader.fault(original)
    for target in (*(f"sm_{n}" for n in TARGETS if before), *(gfx for gfx in GFX if codes)):
        slim, report = cut(scanner, path, target)
        if '"outcome":"left alone"' in report:
            yield f"{target}: {report}"
            continue
        number = int(target[3:]) if target.startswith("sm_") else 0
        if [[e[3] for e in r] for r in regions(slim)] != [[e[3] for e in wanted(r, number)] for r in before] or \
                list(bundles(slim)) != [(how, kept_of_bundle(entries, target)) for how, entries in codes]:
            yield f"{target}: other code is left than the rules name"
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(slim)
            file.flush()
            if theirs is not None and (left := extracted(cuobjdump, file.name)) is not None and left - theirs:
                yield f"{target}: cuobjdump finds machine code that the original has not"
            warnings, lint = complaints(file.name)
        if before_it is None and (fault := loader.fault(slim)):
            yield f"{target}: the loader: {fault}"
        if warnings > said[0] or lint - said[1]:
            yield f"{target}: {dict(lint - said[1])}, {warnings} warnings"
        was, now = sections(original), sections(slim)
        for name, (kind, address, offset, size) in was.items():
            same = now[name][:2] == (kind, address)
            if name not in DEVICE and kind != 8:
                a, b = original[offset:offset + size], slim[now[name][2]:now[name][2] + now[name][3]]
                same = same and (a == b or (len(a) == len(b) and name in (".rela.dyn", ".relr.dyn", ".symtab", ".nvFatBinSegment", ".hipFatBinSegment")))
            if not same:
                yield f"{target}: section {name} is not as it was"
        print(f"{'mapped' if loader.ready and before_it is None else 'not mapped'} {target:7} {len(original) / 1e6:9.2f} MB {len(slim) / 1e6:9.2f} MB  {called or path}")
    shutil.rmtree(place)


def main(scanner, cuobjdump, *paths):
    faults = 0
    for path in paths:
        for fault in judge(scanner, cuobjdump, path):
            print(f"FAULT {path}: {fault}")
            faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
