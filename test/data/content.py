#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small files with device code, made by hand after the formats: the seeds of fuzz_content, and what
test_content reads. `test/data/content.py DIR` writes them; those in test/data/fuzz/content are its, but
sizes-lie.bundle and older-zstd-*.so, which the fuzzer found."""
import struct
import sys
import zlib


LZ4, ZSTD = 0x2000, 0x8000


def entry(kind, arch, flags=0, body=64, version=(0, 0), inflated=4096, compressed=LZ4):
    """An entry of a fat binary; the body is noise, which is said to be compressed."""
    head = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, body, 0, 0, version[1], version[0], arch,
                       0, 0, flags | compressed, 0, inflated)
    return head[:64].ljust(64, b"\0") + b"\xa5" * body


def container(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def bundle(*targets):
    """An offload bundle; targets are (name, bytes of code)."""
    head = 32 + sum(24 + len(name) for name, _ in targets)
    out, at = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(targets)), head
    for name, size in targets:
        out += struct.pack("<QQQ", at, size, len(name)) + name.encode()
        at += size
    return out + b"\x5a" * (at - head)


def ccob(version, method, inflated, deflated):
    sizes = {1: lambda n: struct.pack("<I", len(inflated)),
             2: lambda n: struct.pack("<II", n + 24, len(inflated)),
             3: lambda n: struct.pack("<QQ", n + 32, len(inflated))}[version](len(deflated))
    return b"CCOB" + struct.pack("<HH", version, method) + sizes + b"\1" * 8 + deflated


def zstd_raw(data):
    """A zstd frame of blocks that are not compressed (RFC 8878)."""
    out = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data))
    for at in range(0, len(data), 65536):
        part = data[at:at + 65536]
        last = at + 65536 >= len(data)
        out += struct.pack("<I", len(part) << 3 | last)[:3] + part
    return out


def elf(machine, sections=(), needed=(), versions=(), soname=None, level=0, shared=True):
    """An ELF file: strings and the dynamic section in front, named sections, the table behind."""
    strings, places = b"\0", {}
    for text in [*needed, *versions, *([soname] if soname else [])]:
        places[text] = len(strings)
        strings += text.encode() + b"\0"
    note = struct.pack("<IIIIIII", 4, 16, 5, 0x00554E47, 0xC0008002, 4, (1 << level) >> 1) + b"\0" * 4
    note_at = 64 + 3 * 56
    strings_at = note_at + len(note)
    dynamic_at = (strings_at + len(strings) + 7) // 8 * 8
    dynamic = [(1, places[text]) for text in needed]
    if soname:
        dynamic.append((14, places[soname]))
    dynamic += [(5, 0x400000 + strings_at), (10, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *pair) for pair in dynamic)
    body = note + strings
    body = body.ljust(dynamic_at - note_at, b"\0") + dynamic
    names, table, at = b"\0.shstrtab\0", [], note_at + len(body)
    for name, data in sections:
        pad = -at % 4096
        body += b"\0" * pad + data
        table.append((len(names), 1, at + pad, len(data)))
        names += name.encode() + b"\0"
        at += pad + len(data)
    table.append((1, 3, at, len(names)))
    body += names
    body += b"\0" * (-(note_at + len(body)) % 8)
    shoff = note_at + len(body)
    for name, kind, offset, size in [(0, 0, 0, 0), *table]:
        body += struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size, 0, 0, 8, 0)
    head = b"\x7fELF\2\1\1" + b"\0" * 9
    head += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, shoff, 0, 64, 56, 3, 64,
                        len(table) + 1, len(table))
    size = note_at + len(body)
    segments = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, size, size, 4096)
    segments += struct.pack("<IIQQQQQQ", 2, 6, dynamic_at, 0x400000 + dynamic_at, 0, len(dynamic), 0, 8)
    segments += struct.pack("<IIQQQQQQ", 0x6474E553 if level else 0, 4, note_at, 0, 0, len(note), 0, 8)
    return head + segments + body


def msgpack(value):
    """Texts, numbers, lists and maps, each in its short form."""
    if isinstance(value, str):
        data = value.encode()
        return (bytes([0xA0 | len(data)]) if len(data) < 32 else bytes([0xD9, len(data)])) + data
    if isinstance(value, int):
        return bytes([value]) if value < 128 else b"\xcd" + struct.pack(">H", value)
    if isinstance(value, list):
        return bytes([0x90 | len(value)]) + b"".join(msgpack(one) for one in value)
    return bytes([0x80 | len(value)]) + b"".join(msgpack(one) for pair in value.items() for one in pair)


def kpack(objects):
    """An archive of AMD's kpack: {name: {gpu: bytes of its code}}; what should be code is noise."""
    code = b"\x5a" * 448
    toc = {name: {gpu: {"type": "hsaco", "ordinal": 0, "original_size": size} for gpu, size in gpus.items()}
           for name, gpus in objects.items()}
    table = {"format_version": 1, "group_name": "x", "gfx_arch_family": "gfx942",
             "gfx_arches": sorted({gpu for gpus in objects.values() for gpu in gpus}), "toc": toc,
             "compression_scheme": "zstd-per-kernel", "zstd_offset": 64, "zstd_size": len(code)}
    return (b"KPAK" + struct.pack("<IQ", 1, 64 + len(code))).ljust(64, b"\0") + code + msgpack(table)


def split_elf(name, *paths):
    """A library that kpack took the code out of; a page of it is left."""
    ref = msgpack({"kpack_search_paths": list(paths), "kernel_name": name})
    return elf(62, [(".hip_fatbin", bundle(("hipv4-amdgcn-amd-amdhsa--gfx90a", 16))),
                    (".hipFatBinSegment", struct.pack("<IIQQ", 0x4B504948, 1, 0, 0)),
                    (".rocm_kpack_ref", ref)], ["libamdhip64.so.7"])


def device_elf(machine, text, flags=0, abi=0):
    head = b"\x7fELF\2\1\1\x41" + bytes([abi]) + b"\0" * 7
    head += struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 0, 0, flags, 64, 56, 0, 64, 0, 0)
    return head + text + b"\0" * 32


def main(directory):
    cuda = container(entry(2, 80), entry(2, 90, 0x100000), entry(2, 100, 0x200000, body=128),
                     entry(1, 120, version=(8, 7)))
    hip = bundle(("host-x86_64-unknown-linux--", 0),
                 ("hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", 512),
                 ("hipv4-amdgcn-amd-amdhsa--gfx90a", 256))
    files = {
        "cuda.so": elf(62, [(".nv_fatbin", cuda + container(entry(2, 80)))],
                       ["libcudart.so.12", "libc.so.6"], ["GLIBC_2.34", "GLIBC_2.2.5", "GLIBCXX_3.4.30"],
                       "libtest.so.1", level=3),
        "elsewhere.so": elf(62, [(".rodata", cuda)], ["libc.so.6"]),
        "beside.so": elf(62, [(".nv_fatbin", container(entry(2, 80))),
                              (".rodata", container(entry(2, 75)) + device_elf(190, b"", 0x00560556, 7) +
                               container(entry(2, 75), entry(1, 75, version=(9, 0)), entry(2, 80, compressed=ZSTD)))]),
        "hip.so": elf(62, [(".hip_fatbin", hip)], ["libamdhip64.so.7"]),
        "hip-compressed.so": elf(62, [(".hip_fatbin", ccob(2, 1, hip, zstd_raw(hip)))]),
        "sycl.so": elf(62, [("__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen", b"x" * 40)]),
        "compat.so": elf(183, [(".note.cuda.fwd_compatibility", b"{}")], soname="libcuda.so.1"),
        "driver.so": elf(62, needed=["libc.so.6"], soname="libcuda.so.1"),
        "zstd.so": elf(62, [(".nv_fatbin", container(entry(2, 80, compressed=ZSTD), entry(2, 90)))],
                       ["libcudart.so.12"]),
        "empty.so": elf(62, [(".nv_fatbin", container(entry(2, 75, inflated=1464), entry(2, 52, inflated=872)))]),
        "cuda.fatbin": cuda + container(entry(8, 90)),
        "sm_90a.cubin": device_elf(190, b"\0-arch sm_90a -m 64\0", 0x06005A04, 8),
        "sm_90.cubin": device_elf(190, b"", 0x06005A04, 8),
        "sm_100.cubin": device_elf(190, b"", 0x06006402, 8),
        "sm_86.cubin": device_elf(190, b"", 0x00560556, 7),
        "sm_100a.cubin": device_elf(190, b"\0-gen-opext no\0", 0x1000640C, 8),
        # with the note of CUDA 13.0's linker
        "sm_103a.cubin": device_elf(190, b"\0\xd0\7\0\0NVIDIA Corp\0nvlink\0"
                                    b"Cuda compilation tools, release 13.0, V13.0.88\0Build cuda_13.0.r13.0/"
                                    b"compiler.36424714_0\0-arch sm_103a -m 64 -c\0", 0x06006702, 8),
        "gfx942.hsaco": device_elf(224, b"\0amdgcn-amd-amdhsa--gfx942:xnack-\0"),
        "plain.bundle": hip,
        "zlib1.bundle": ccob(1, 0, hip, zlib.compress(hip)),
        "zlib2.bundle": ccob(2, 0, hip, zlib.compress(hip)),
        "kpack.so": split_elf("lib/libx.so", "../.kpack/x_@GFXARCH@.kpack", "/opt/x.kpack"),
        "x_gfx942.kpack": kpack({"lib/libx.so#0": {"gfx942": 1024, "gfx942:xnack+": 1024},
                                 "lib/libx.so#1": {"gfx942": 512}, "lib/liby.so#0": {"gfx942": 16}}),
        "zstd3.bundle": ccob(3, 1, hip, zstd_raw(hip)),
    }
    for name, data in files.items():
        with open(f"{directory}/{name}", "wb") as out:
            out.write(data)


if __name__ == "__main__":
    main(sys.argv[1])
