#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wheels as frameworks publish them, but small: libraries with code for some GPUs and nothing that runs.
`content_wheels.py DIR` writes them there."""
import os
import sys
import zipfile

sys.dont_write_bytecode = True  # beside the tests
import content  # pylint: disable=wrong-import-position

AMD64 = 62


def cuda(major, real, ptx=None, body=4096):
    """A library of CUDA `major` with machine code for the chips `real`, "90a" too, and PTX for one."""
    entries = [content.entry(2, int(sm.rstrip("a")), 0x100000 if sm.endswith("a") else 0, body) for sm in real]
    if ptx:
        entries.append(content.entry(1, ptx, body=body, version=(8, 0)))
    return content.elf(AMD64, [(".nv_fatbin", content.container(*entries))],
                       [f"libcudart.so.{major}", "libc.so.6"], ["GLIBC_2.28"])


def rocm(major, *targets):
    """A library of ROCm, its bundle compressed as newer compilers do it."""
    plain = content.bundle(("host-x86_64-unknown-linux--", 0),
                           *((f"hipv4-amdgcn-amd-amdhsa--{target}", 4096) for target in targets))
    return content.elf(AMD64, [(".hip_fatbin", content.ccob(3, 1, plain, content.zstd_raw(plain)))],
                       [f"libamdhip64.so.{major}", "libc.so.6"])


WHEELS = {
    # name: libraries, what torch/version.py says
    "cpu": ([content.elf(AMD64, needed=["libc.so.6"], versions=["GLIBC_2.28"])], "cuda: Optional[str] = None"),
    "cu11": ([cuda("11.0", ["60", "70", "75"])], "cuda: Optional[str] = '11.8'"),
    # the second library has sm_86 besides, which is not enough for the whole
    "cu12": ([cuda("12", ["80", "90"]), cuda("12", ["80", "86", "90a"], ptx=90)], "cuda: Optional[str] = '12.6'"),
    "cu13": ([cuda("13", ["80", "90", "100", "120"], ptx=120)], "cuda: Optional[str] = '13.0'"),
    "rocm7": ([rocm(7, "gfx90a:xnack-", "gfx942:sramecc+:xnack-"), rocm(7, "gfx90a", "gfx942", "gfx1100")],
              "hip: Optional[str] = '7.0.2'"),
}


def main(directory):
    for name, (libraries, version) in WHEELS.items():
        path = f"{directory}/torch-2.9+{name}-cp311-cp311-manylinux_2_28_x86_64.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
            for i, data in enumerate(libraries):
                wheel.writestr(f"torch/lib/libtorch_{i}.so", data)
            wheel.writestr("torch/version.py", f"__version__ = '2.9+{name}'\n{version}\n")
            dist = f"torch-2.9+{name}.dist-info"
            wheel.writestr(f"{dist}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: 2.9+{name}\n")
            wheel.writestr(f"{dist}/variant.json", '{"variants": {"%s": {}}}\n' % name)
        os.utime(path, (0, 0))


if __name__ == "__main__":
    main(sys.argv[1])
