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

TARGETS = (80, 90, 120)
DEVICE = (".nv_fatbin", "__nv_relfatbin")
TEGRA = (32, 53, 62, 72, 87, 101, 110)
PTX, CODE, IR = 1, 2, 8


def cut(scanner, path, target):
    """The library's bytes for one target, by the program that slim runs on a layer."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.add(path, "lib.so", recursive=False)
    with tempfile.TemporaryFile() as source:
        source.write(b"7\nlib.so\0" + layer.getvalue())
        source.seek(0)
        run = subprocess.run([scanner, "--slim", f"sm_{target}", tempfile.gettempdir()], stdin=source, check=True,
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
        while name in DEVICE and at < end:
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
    for target in TARGETS:
        slim, report = cut(scanner, path, target)
        if '"outcome":"left alone"' in report:
            yield f"sm_{target}: {report}"
            continue
        after = list(regions(slim))
        if [[e[3] for e in r] for r in after] != [[e[3] for e in wanted(r, target)] for r in before]:
            yield f"sm_{target}: other code is left than the rules name"
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(slim)
            file.flush()
            if theirs is not None and (left := extracted(cuobjdump, file.name)) is not None and left - theirs:
                yield f"sm_{target}: cuobjdump finds machine code that the original has not"
            warnings, lint = complaints(file.name)
        if warnings > said[0] or lint - said[1]:
            yield f"sm_{target}: {dict(lint - said[1])}, {warnings} warnings"
        was, now = sections(original), sections(slim)
        for name, (kind, address, offset, size) in was.items():
            same = now[name][:2] == (kind, address)
            if name not in DEVICE and kind != 8:
                a, b = original[offset:offset + size], slim[now[name][2]:now[name][2] + now[name][3]]
                same = same and (a == b or (len(a) == len(b) and name in (".rela.dyn", ".relr.dyn", ".symtab", ".nvFatBinSegment")))
            if not same:
                yield f"sm_{target}: section {name} is not as it was"
        print(f"sm_{target} {len(original) / 1e6:9.2f} MB {len(slim) / 1e6:9.2f} MB  {called or path}")


def main(scanner, cuobjdump, *paths):
    faults = 0
    for path in paths:
        for fault in judge(scanner, cuobjdump, path):
            print(f"FAULT {path}: {fault}")
            faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
