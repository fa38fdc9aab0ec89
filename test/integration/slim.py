#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images for `variantctl slim`, and a second reader of what it makes of them.

    slim.py make DIR TAG COMPRESSION LIBRARY [ARCHITECTURE]
                                                an image of three layers in the layout DIR, with a wheel that has LIBRARY,
                                                an older copy of it below, hard links, attributes and a vendor's file
    slim.py rocm DIR TAG LIBRARY                the same of ROCm: LIBRARY, and files of code for one GPU each
    slim.py cached DIR TAG LIBRARY              an image of a wheel that uv installed: hard links into its cache
    slim.py below DIR TAG none|text|link        code of gfx90a and gfx942 above another file of the path of the first
    slim.py mixed DIR TAG LIBRARY...            an image of these libraries
    slim.py index DIR TAG DIGEST...             an index of images, with their platforms
    slim.py compare DIR FROM TO PATH...         the images of two digests: equal but for the files PATH and without -PATH, and
                                                wholly described
    slim.py cat DIR DIGEST PATH                 a file of an image"""
import base64
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile

OCI = "application/vnd.oci.image."
SITE = "usr/lib/python3/site-packages/"


def put(layout, data):
    digest = hashlib.sha256(data).hexdigest()
    os.makedirs(f"{layout}/blobs/sha256", exist_ok=True)
    with open(f"{layout}/blobs/sha256/{digest}", "wb") as file:
        file.write(data)
    return {"digest": "sha256:" + digest, "size": len(data)}


def blob(layout, digest):
    with open(f"{layout}/blobs/sha256/{digest[7:]}", "rb") as file:
        data = file.read()
    assert "sha256:" + hashlib.sha256(data).hexdigest() == digest, f"{digest} has other bytes"
    return data


def row(path, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}\n"


def add(tar, name, data=b"", **fields):
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.uid, member.uname = len(data), 1700000000.25, 1000, "builder"
    for key, value in fields.items():
        setattr(member, key, value)
    tar.addfile(member, io.BytesIO(data))


def compress(data, how):
    if how == "none":
        return data
    return gzip.compress(data, mtime=0) if how == "gzip" else \
        subprocess.run(["zstd", "-q", "-c", *how.split()[1:]], input=data, stdout=subprocess.PIPE, check=True).stdout


def tag_document(layout, tag, kind, document):
    entry = {"mediaType": OCI + kind, **put(layout, json.dumps(document).encode()),
             "annotations": {"org.opencontainers.image.ref.name": tag}}
    listed = {"schemaVersion": 2, "manifests": []}
    if os.path.exists(f"{layout}/index.json"):
        with open(f"{layout}/index.json", encoding="utf-8") as file:
            listed = json.load(file)
    listed["manifests"].append(entry)
    with open(f"{layout}/index.json", "w", encoding="utf-8") as file:
        json.dump(listed, file)
    with open(f"{layout}/oci-layout", "w", encoding="utf-8") as file:
        file.write('{"imageLayoutVersion": "1.0.0"}')
    print(entry["digest"])


def index(layout, tag, *digests):
    entries = []
    for digest in digests:
        _, config, _ = image(layout, digest)
        entries.append({"mediaType": OCI + "manifest.v1+json", "digest": digest, "size": len(blob(layout, digest)),
                        "platform": {"os": config["os"], "architecture": config["architecture"]}})
    tag_document(layout, tag, "index.v1+json", {"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": entries})


def write_image(layout, tag, how, layers, architecture="amd64"):
    described, diff_ids = [], []
    for members_ in layers:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name, data, fields in members_:
                add(tar, name, data, **fields)
        diff_ids.append("sha256:" + hashlib.sha256(out.getvalue()).hexdigest())
        kind = OCI + "layer.v1.tar" + ("" if how == "none" else "+" + how.split()[0])
        described.append({"mediaType": kind, **put(layout, compress(out.getvalue(), how)),
                          "annotations": {"containerd.io/snapshot/stargz/toc.digest": "sha256:" + "0" * 64, "kept": "yes"}})
    config = {"created": "2026-01-02T03:04:05Z", "architecture": architecture, "os": "linux", "config": {"Cmd": ["/app/main.py"]},
              "rootfs": {"type": "layers", "diff_ids": diff_ids},
              "history": [{"created_by": f"layer {i}"} for i in range(len(layers))]}
    manifest = {"schemaVersion": 2, "mediaType": OCI + "manifest.v1+json",
                "config": {"mediaType": OCI + "config.v1+json", **put(layout, json.dumps(config).encode())}, "layers": described}
    tag_document(layout, tag, "manifest.v1+json", manifest)


def rocm(layout, tag, path):
    with open(path, "rb") as file:
        library = file.read()
    kernels = {f"gpu/library/Kernels_{gpu}.hsaco": f"code of {gpu}".encode() * 999 for gpu in ("gfx90a", "gfx942", "gfx1100")}
    record = row("gpu/lib/libgpu.so", library) + "".join(row(*it) for it in kernels.items()) + row("gpu/a.link", kernels["gpu/library/Kernels_gfx90a.hsaco"]) + \
        "gpu-1.0.dist-info/RECORD,,\n"
    linked = {"type": tarfile.LNKTYPE, "linkname": SITE + "gpu/library/Kernels_gfx1100.hsaco"}
    again = {"type": tarfile.LNKTYPE, "linkname": SITE + "gpu/library/same.hsaco"}
    old = b"code of an older gfx90a" * 999
    write_image(layout, tag, "zstd", [[("opt/x_gfx90a.hsaco", old, {}), ("opt/y_gfx90a.hsaco", old, {})],
                                      [("opt/x_gfx90a.hsaco", old[1:], {}), (SITE + "gpu-1.0.dist-info/RECORD", record.encode(), {}), (SITE + "gpu/lib/libgpu.so", library, {}),
                                       (SITE + "gpu/a.link", kernels["gpu/library/Kernels_gfx90a.hsaco"], {}),
                                       *[(SITE + name, data, {}) for name, data in kernels.items()],
                                       (SITE + "gpu/library/same.hsaco", b"", linked),
                                       (SITE + "gpu/library/same2.hsaco", b"", again)]])


def hsaco(machine):
    """an ELF file of AMD's GPUs, by e_flags"""
    return b"\x7fELF\x02\x01\x01\x40\x03" + bytes(7) + (3).to_bytes(2, "little") + (224).to_bytes(2, "little") + (1).to_bytes(4, "little") + \
        bytes(24) + machine.to_bytes(4, "little") + (64).to_bytes(2, "little") + (56).to_bytes(2, "little") + bytes(2) + (64).to_bytes(2, "little") + bytes(4) + bytes(960)


def cached(layout, tag, path):
    with open(path, "rb") as file:
        library = file.read()
    cache = "root/.cache/uv/archive-v0/x/"
    record = row("gpu/lib/libgpu.so", library) + row("gpu/lib/absent/libgpu.so", library) + row("gpu/__init__.py", b"") + "gpu-1.0.dist-info/RECORD,,\n"
    other = row("other/libgpu.so", b"of no GPU") + "other-1.0.dist-info/RECORD,,\n"
    write_image(layout, tag, "gzip", [[(cache + "gpu/lib/libgpu.so", library, {}), (SITE + "gpu-1.0.dist-info/RECORD", record.encode(), {}),
                                       (SITE + "gpu/__init__.py", b"", {}), (SITE + "other/libgpu.so", b"of no GPU", {}),
                                       (SITE + "gpu/lib/libgpu.so", b"", {"type": tarfile.LNKTYPE, "linkname": cache + "gpu/lib/libgpu.so"}),
                                       (SITE + "other-1.0.dist-info/RECORD", other.encode(), {})]])


def below(layout, tag, what):
    under = {"none": [("etc/x", b"", {})], "text": [("k/x_gfx90a.hsaco", b"text", {})],
             "link": [("k/x_gfx90a.hsaco", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"})]}
    write_image(layout, tag, "gzip", [under[what], [("k/x_gfx90a.hsaco", hsaco(0x3f), {}), ("k/y_gfx90a.hsaco", hsaco(0x3f), {}),
                                               ("k/y_gfx942.hsaco", hsaco(0x4c), {})]])


def mixed(layout, tag, *paths):
    members_ = []
    for path in paths:
        with open(path, "rb") as file:
            members_.append((f"opt/{os.path.basename(path)}.so", file.read(), {}))
    write_image(layout, tag, "gzip", [members_])


def make(layout, tag, how, path, architecture="amd64"):
    with open(path, "rb") as file:
        library = file.read()
    record = row("gpu/lib/libgpu.so", library) + row("gpu/__init__.py", b"") + "gpu-1.0.dist-info/RECORD,,\n"
    layers = [[(f"{SITE}gpu/lib/libgpu.so", library, {}), ("etc/os-release", b"ID=test\n", {})],
              [(f"./{SITE}gpu-1.0.dist-info/RECORD", record.encode(), {}),
               (f"./{SITE}gpu/__init__.py", b"", {}),
               (f"./{SITE}gpu/lib/libgpu.so", library,
                {"mode": 0o755, "pax_headers": {"SCHILY.xattr.user.build": "1", "size": str(len(library))}}),
               (f"./{SITE}gpu/lib/libgpu.so.1", b"",
                {"type": tarfile.LNKTYPE, "linkname": f"./{SITE}gpu/lib/libgpu.so"}),
               ("opt/" + "n" * 180 + "/text", b"text", {}),
               (f"{SITE}nvidia/cublas/lib/libcublas.so.12", library, {"mode": 0o755}),
               ("var/lib/dpkg/info/gpu.md5sums", f"{'0' * 32}  {SITE}gpu/lib/libgpu.so\n{'0' * 32}  usr/bin/gpu\n".encode(), {})],
              [("app/main.py", b"print('hello')\n", {})]]
    write_image(layout, tag, how, layers, architecture)


def unpacked(data):
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(["zstd", "-q", "-d", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


def image(layout, digest):
    """(manifest, configuration, layers unpacked)"""
    manifest = json.loads(blob(layout, digest))
    config = json.loads(blob(layout, manifest["config"]["digest"]))
    layers = [unpacked(blob(layout, layer["digest"])) for layer in manifest["layers"]]
    for layer, data, diff_id in zip(manifest["layers"], layers, config["rootfs"]["diff_ids"], strict=True):
        assert "sha256:" + hashlib.sha256(data).hexdigest() == diff_id, "a diff ID is wrong"
        assert len(blob(layout, layer["digest"])) == layer["size"], "a size is wrong"
    return manifest, config, layers


def members(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            content = tar.extractfile(member).read() if member.isreg() else b""
            yield member, content


def facts(member):
    pax = {key: value for key, value in member.pax_headers.items() if key != "size"}
    return (member.name, member.mode, member.uid, member.gid, member.uname, member.mtime, member.type, member.linkname, pax)


def check_records(layers):
    """Every row of every RECORD is true of the files beside it."""
    for data in layers:
        files = {}
        for member, content in members(data):
            files[member.name] = files[member.linkname] if member.islnk() else content
        for name, content in files.items():
            if not name.endswith(".dist-info/RECORD"):
                continue
            site = name.rsplit("/", 2)[0]
            for line in content.decode().splitlines():
                path, digest, _ = line.split(",")
                if digest and "absent" not in path:
                    assert row(path, files[f"{site}/{path}"]) == line + "\n", f"RECORD is wrong about {path}"


def compare(layout, before, after, *paths):
    old_manifest, old, old_layers = image(layout, before)
    new_manifest, new, new_layers = image(layout, after)
    changed, gone = set(), {path[1:] for path in paths if path[0] == "-"}
    for i, (a, b) in enumerate(zip(old_layers, new_layers, strict=True)):
        if a == b:
            assert old_manifest["layers"][i] == new_manifest["layers"][i], "a layer that is equal has another descriptor"
            continue
        assert old_manifest["layers"][i]["mediaType"] == new_manifest["layers"][i]["mediaType"], "another compression"
        assert new_manifest["layers"][i]["annotations"] == {"kept": "yes"}, "annotations about other bytes"
        there = [(x, p) for x, p in members(a) if x.name.removeprefix("./") not in gone]
        for (x, p), (y, q) in zip(there, members(b), strict=True):
            assert facts(x) == facts(y), f"{x.name} is not as it was"
            if p != q and not x.name.endswith("/RECORD"):
                changed.add(x.name.removeprefix("./"))
    assert changed == {path for path in paths if path[0] != "-"}, f"changed: {sorted(changed)}"
    check_records(new_layers)
    assert new["history"][:-1] == old["history"] and new["history"][-1]["empty_layer"], "the history"
    assert {**new, "history": 0, "rootfs": 0, "config": 0} == {**old, "history": 0, "rootfs": 0, "config": 0}
    labels = new["config"].pop("Labels")
    assert new["config"] == old["config"] and set(labels) == {"dev.ocivariant.label", "dev.ocivariant.properties"}
    assert new_manifest["annotations"]["org.opencontainers.image.base.digest"] == before, "the base"


def cat(layout, digest, path):
    for data in reversed(image(layout, digest)[2]):
        for member, content in members(data):
            if member.name.removeprefix("./") == path:
                sys.stdout.buffer.write(content)
                return
    sys.exit(f"{path}: not there")


{"make": make, "rocm": rocm, "cached": cached, "below": below, "mixed": mixed, "index": index, "compare": compare, "cat": cat}[sys.argv[1]](*sys.argv[2:])
