# SPDX-License-Identifier: GPL-3.0-or-later
"""Has the dynamic loader map a library whose own libraries are not here: stubs take their place, and its constructors, which
may not stand that, do not run."""
import os
import re
import shutil
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|pthread|rt|util|gcc_s|stdc\+\+))\.so\.\d+")
# of each machine: the compiler, and what runs its programs
MACHINES = {62: ("gcc", []), 183: ("aarch64-linux-gnu-gcc", ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"])}
INIT, FINI, INIT_ARRAYSZ, FINI_ARRAYSZ, DEBUG = 12, 13, 27, 28, 21


def without_constructors(data):
    data = bytearray(data)
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", data, offset + i * size)
        for entry in range(at, at + length, 16) if kind == 2 else ():
            tag, = struct.unpack_from("<q", data, entry)
            if tag in (INIT, FINI):
                struct.pack_into("<q", data, entry, DEBUG)
            elif tag in (INIT_ARRAYSZ, FINI_ARRAYSZ):
                struct.pack_into("<Q", data, entry + 8, 0)
    return bytes(data)


def of_system(compiler):
    """Names that the system's libraries have."""
    names = {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__", "__tls_get_addr"}
    for library in ("libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libc.so.6"):
        path = subprocess.run([compiler, f"-print-file-name={library}"], check=True, capture_output=True, text=True).stdout.strip()
        listed = subprocess.run(["nm", "-D", "--defined-only", path], check=False, capture_output=True, text=True).stdout
        names |= {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    return names


class Loader:
    """Stubs for one library, and the program that loads it."""

    def __init__(self, place, library):
        with open(library, "rb") as file:
            head = file.read(64)
        self.place = place
        compiler, self.runner = MACHINES.get(struct.unpack_from("<H", head, 18)[0], ("", []))
        self.ready = bool(shutil.which(compiler)) and (not self.runner or bool(shutil.which(self.runner[0])))
        if not self.ready:
            return
        dynamic = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True, text=True).stdout
        symbols = subprocess.run(["readelf", "--dyn-syms", "-W", library], check=True, capture_output=True, text=True).stdout
        names = sorted(set(re.findall(r" UND ([A-Za-z_$][\w.$]*)(?:@\S+)?(?: \(\d+\))?$", symbols, re.M)) - of_system(compiler))
        with open(f"{place}/stub.s", "w", encoding="utf-8") as out:
            out.write(".data\n" + "".join(f'.weak "{n}"\n.type "{n}", @object\n"{n}":\n' for n in names) + ".zero 4096\n")
        # all names in one that is loaded first: those that are asked for have no versions
        needed = [n for n in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if not SYSTEM.fullmatch(n)]
        for name, source in [("stub.so", [f"{place}/stub.s"]), *((n, ["-x", "c", "/dev/null"]) for n in needed)]:
            subprocess.run([compiler, "-shared", "-nostdlib", f"-Wl,-soname,{name}", "-o", f"{place}/{name}", *source], check=True,
                           capture_output=True)
        subprocess.run([compiler, "-o", f"{place}/load", f"{HERE}/load.c", "-ldl"], check=True, capture_output=True)

    def fault(self, data):
        """What the loader, or load.c, has to say of these bytes; None: nothing."""
        if not self.ready:
            return None
        path = f"{self.place}/loaded.so"
        with open(path, "wb") as file:
            file.write(without_constructors(data))
        environment = [f"LD_LIBRARY_PATH={self.place}", f"LD_PRELOAD={self.place}/stub.so"]
        command = [*self.runner, "-E", ",".join(environment)] if self.runner else ["env", *environment]
        command += [f"{self.place}/load", path]
        run = subprocess.run(command, check=False, capture_output=True, text=True)
        return None if run.returncode == 0 else (run.stdout + run.stderr).strip() or f"exit status {run.returncode}"
