#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers that nobody makes on purpose, on standard output:

    layers.py members COUNT [FILE]    so many members, empty or with the bytes of a file
    layers.py texts COUNT             so many torch/version.py of 64 KiB
    layers.py whiteouts COUNT         so many whiteouts with long names
    layers.py size NUMBER             one file that says it has so many bytes
    layers.py hole NUMBER FILE        a sparse file: the bytes of FILE, and a hole of NUMBER bytes
    layers.py zeros NUMBER            in gzip: a file of so many bytes of zeros
    layers.py fast-zeros NUMBER       the same in zstd, which inflates in less time
    layers.py zip-zeros COUNT         a zip archive of so many files of 1 GiB of zeros
    layers.py in-archive FILE...      a tar of the files in each kind of archive
    layers.py append LAYOUT TAG LAYER...   no layer by itself: the image gets these; a LAYER is PATH=TEXT,PATH=TEXT
    layers.py compressed NUMBER FILE  a file with the offload bundle of FILE, compressed with so many zeros behind

`layers.py rss FD COMMAND...` runs a command and writes its greatest resident size to FD, in KiB."""
import bz2
import gzip
import io
import lzma
import os
import resource
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib

OUT = sys.stdout.buffer
PIECE = 1 << 24


def header(name, size, kind=b"0"):
    """A header of ustar; sizes of more than 33 bits as GNU tar writes them."""
    block = bytearray(512)
    block[0:len(name)] = name
    block[100:108] = b"0000644\0"
    block[108:124] = b"0000000\0" * 2
    block[124:136] = b"%011o\0" % size if 0 <= size < 1 << 33 else \
        ((1 << 95 | size) if size >= 0 else (1 << 96) + size).to_bytes(12, "big")
    block[136:148] = b"%011o\0" % 0
    block[148:156] = b" " * 8
    block[156:157] = kind
    block[257:265] = b"ustar\x0000"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(data):
    """Full blocks of 512 bytes."""
    return data + bytes(-len(data) % 512)


def members(count, path=None):
    """Numbers are written into one header, and its sum is set right."""
    body = b""
    if path:
        with open(path, "rb") as file:
            body = file.read()
    block = bytearray(header(b"d/0000000", len(body)))
    base = sum(block) - sum(block[148:156]) + 8 * 32 - sum(b"0000000")
    body = padded(body)
    for begin in range(0, int(count), 4096):
        out = []
        for i in range(begin, min(begin + 4096, int(count))):
            number = b"%07d" % i
            block[2:9] = number
            block[148:156] = b"%06o\0 " % (base + sum(number))
            out.append(bytes(block) + body)
        OUT.write(b"".join(out))
    OUT.write(bytes(1024))


def texts(count):
    """They inflate from next to nothing."""
    body = b"cuda = '12.8'\n".ljust(1 << 16, b"#")
    for i in range(int(count)):
        OUT.write(header(b"%d/torch/version.py" % i, len(body)) + body)
    OUT.write(bytes(1024))


def whiteouts(count):
    """Each in a directory of its own."""
    for i in range(int(count)):
        OUT.write(header(b"%080d/.wh.x" % i, 0))
    OUT.write(bytes(1024))


def size(number):
    """Two blocks follow, and the end."""
    OUT.write(header(b"usr/lib/libk.so", int(number)) + bytes(2048))


def hole(number, path):
    """As `tar --sparse --format=posix` writes it, version 1.0: the map stands before the bytes."""
    with open(path, "rb") as file:
        body = file.read()
    total = len(body) + int(number)
    records = b""
    for key, value in ((b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"),
                       (b"GNU.sparse.name", b"usr/lib/libk.so"), (b"GNU.sparse.realsize", b"%d" % total)):
        line = b" %s=%s\n" % (key, value)
        length = len(line) + 2
        records += b"%d" % length + line
    data = padded(b"3\n0\n%d\n%d\n1\n%d\n0\n" % (len(body), total - 1, total)) + body + b"\0"
    OUT.write(header(b"PaxHeader", len(records), b"x") + padded(records))
    OUT.write(header(b"GNUSparseFile.0/libk.so", len(data)) + padded(data) + bytes(1024))


def zeros(number):
    """Members of gzip one after the other, each made once."""
    OUT.write(gzip.compress(header(b"zeros", int(number))))
    piece = gzip.compress(bytes(PIECE))
    for _ in range(int(number) // PIECE):
        OUT.write(piece)
    OUT.write(gzip.compress(bytes(1024)))


def zstd_frame(data=None):
    """A frame of zstd (RFC 8878): data as they are, or PIECE zeros in blocks of one repeated byte."""
    if data is not None:
        return struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data)) + struct.pack("<I", len(data) << 3 | 1)[:3] + data
    block = 1 << 17
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, PIECE) + b"".join(
        struct.pack("<I", block << 3 | 2 | (at + block == PIECE))[:3] + b"\0" for at in range(0, PIECE, block))


def fast_zeros(number):
    """Frames one after the other."""
    OUT.write(zstd_frame(header(b"zeros", int(number))) + zstd_frame() * (int(number) // PIECE) + zstd_frame(bytes(1024)))


def zip_zeros(count):
    """A zip archive of so many files of 1 GiB of zeros."""
    deflater = zlib.compressobj(1, zlib.DEFLATED, -15)
    data = b"".join(deflater.compress(bytes(1 << 20)) for _ in range(1024)) + deflater.flush()
    crc = 0
    for _ in range(1024):
        crc = zlib.crc32(bytes(1 << 20), crc)
    at, directory = 0, b""
    for i in range(int(count)):
        name = b"%d" % i
        fields = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, crc, len(data), 1 << 30, len(name), 0)
        OUT.write(b"PK\3\4" + fields + name + data)
        directory += b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, at) + name
        at += 30 + len(name) + len(data)
    OUT.write(directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, int(count), int(count), len(directory), at, 0))


def in_archive(*paths):
    """The files themselves are nowhere in it."""
    inner, wheel = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w") as tar, zipfile.ZipFile(wheel, "w") as zipped:
        for path in paths:
            tar.add(path, os.path.basename(path))
            zipped.write(path, os.path.basename(path), zipfile.ZIP_DEFLATED)
    plain = inner.getvalue()
    with tarfile.open(fileobj=OUT, mode="w|") as tar:
        for name, data in (("a.tar", plain), ("a.tar.gz", gzip.compress(plain)), ("a.tar.bz2", bz2.compress(plain)),
                           ("a.tar.xz", lzma.compress(plain)), ("a.z", zlib.compress(plain)), ("a.whl", wheel.getvalue())):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def compressed(number, path):
    """Versions 2 and 3, whose sizes are the true ones."""
    with open(path, "rb") as file:
        bundle = file.read()
    pack = zlib.compressobj(1)
    body = pack.compress(bundle) + b"".join(pack.compress(bytes(PIECE)) for _ in range(int(number) // PIECE)) + pack.flush()
    total = len(bundle) + int(number)
    with tarfile.open(fileobj=OUT, mode="w|") as tar:
        for version, sizes in ((2, struct.pack("<II", len(body) + 24, min(total, (1 << 32) - 1))),
                               (3, struct.pack("<QQ", len(body) + 32, total))):
            data = b"CCOB" + struct.pack("<HH", version, 0) + sizes + bytes(8) + body
            info = tarfile.TarInfo(f"{version}.bundle")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def repeated(count, data):
    """The same file so often, compressed."""
    with gzip.GzipFile(fileobj=OUT, mode="wb", mtime=0) as out:
        for i in range(int(count)):
            out.write(header(b"%d/libk.so" % i, len(data)) + padded(data))
        out.write(bytes(1024))


def fat(count):
    """One fat binary of so many entries, each of another version of PTX."""
    entry = bytearray(64)
    struct.pack_into("<HHIQ", entry, 0, 1, 0x101, 64, 0)
    struct.pack_into("<I", entry, 28, 90)
    out = bytearray(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64 * int(count)))
    for i in range(int(count)):
        struct.pack_into("<HH", entry, 24, i % 64, i // 64 % 64)
        out += entry
    repeated(1, bytes(out))


def bundles(count):
    """A file of so many compressed bundles, each with a long list of targets."""
    rows, number = b"", 0
    while number < 1000:
        name = b"hip-amdgcn-amd-amdhsa--gfx%d" % (900 + number % 100)
        rows += struct.pack("<QQQ", 0, 0, len(name)) + name
        number += 1
    body = zlib.compress(b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", number) + rows)
    one = b"CCOB" + struct.pack("<HHI", 1, 0, 1 << 20) + bytes(8) + body
    repeated(1, padded(one) * int(count))


def tables(count):
    """ELF files whose first section says that there are 131,072 of them."""
    n = 131072
    head = bytearray(64)
    head[:7] = b"\x7fELF\x02\x01\x01"
    struct.pack_into("<HHI", head, 16, 3, 62, 1)
    struct.pack_into("<QQ", head, 32, 0, 64)
    struct.pack_into("<HHHHHH", head, 52, 64, 56, 0, 64, 0, 1)
    first = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, n, 0, 0, 0, 0)
    strings = struct.pack("<IIQQQQIIQQ", 1, 3, 0, 0, 64 + 64 * n, 32, 0, 0, 1, 0)
    section = struct.pack("<IIQQQQIIQQ", 1, 1, 0, 0, 0, 1 << 40, 0, 0, 1, 0)
    data = bytes(head) + first + strings + section * (n - 2) + b"\0.nv_fatbin\0".ljust(32, b"\0")
    repeated(count, data)


def append(layout, tag, *layers):
    import hashlib  # here: `rss` measures no less than this program needs
    import json

    def blob(data):
        name = hashlib.sha256(data).hexdigest()
        with open(f"{layout}/blobs/sha256/{name}", "wb") as file:
            file.write(data)
        return {"digest": "sha256:" + name, "size": len(data)}

    def read(descriptor):
        with open(f"{layout}/blobs/sha256/{descriptor['digest'][7:]}", encoding="utf-8") as file:
            return json.load(file)

    with open(f"{layout}/index.json", encoding="utf-8") as file:
        index = json.load(file)
    entry = next(m for m in index["manifests"] if m["annotations"]["org.opencontainers.image.ref.name"] == tag)
    manifest = read(entry)
    config = read(manifest["config"])
    for layer in layers:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for member in layer.split(","):
                path, text = member.split("=")
                info = tarfile.TarInfo(path)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
        added = blob(out.getvalue())
        manifest["layers"].append({"mediaType": "application/vnd.oci.image.layer.v1.tar"} | added)
        config["rootfs"]["diff_ids"].append(added["digest"])
    manifest["config"] |= blob(json.dumps(config).encode())
    entry |= blob(json.dumps(manifest).encode())
    with open(f"{layout}/index.json", "w", encoding="utf-8") as file:
        json.dump(index, file)


def rss(fd, *command):
    """Its standard output and exit status stay as they are."""
    code = subprocess.run(command, check=False).returncode
    os.write(int(fd), b"%d\n" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    sys.exit(code)


if __name__ == "__main__":
    {"members": members, "texts": texts, "whiteouts": whiteouts, "size": size, "hole": hole, "zeros": zeros, "fast-zeros": fast_zeros, "zip-zeros": zip_zeros,
     "in-archive": in_archive, "compressed": compressed, "fat": fat, "bundles": bundles, "tables": tables, "append": append, "rss": rss}[sys.argv[1]](*sys.argv[2:])
