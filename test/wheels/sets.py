#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `variantctl slim` saves of published wheels: the table of docs/slim.md.

    sets.py VARIANTCTL PLACE DIR...

Each DIR has the wheels of one image: a layer each, in gzip. The image is slimmed in the directory PLACE, without and with the
files of NVIDIA's own packages, and a row says what is pulled: of the image, and of each variant."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

OCI = "application/vnd.oci.image."
SITE = "usr/lib/python3/site-packages/"
TARGETS = {"cuda": ("sm_80", "sm_90", "sm_120"), "rocm": ("gfx90a", "gfx942", "gfx1100")}


def put(layout, data):
    digest = hashlib.sha256(data).hexdigest()
    with open(f"{layout}/blobs/sha256/{digest}", "wb") as file:
        file.write(data)
    return {"digest": "sha256:" + digest, "size": len(data)}


def layer(layout, wheel):
    """(descriptor, diff ID) of the wheel's files, as they are installed."""
    plain, path = hashlib.sha256(), f"{layout}/layer"

    class Both:
        """Writes the archive, and takes its digest."""
        def write(self, data):
            plain.update(data)
            return packed.stdin.write(data)

    with open(path, "wb") as out, subprocess.Popen(["gzip", "-n"], stdin=subprocess.PIPE, stdout=out) as packed:
        with tarfile.open(fileobj=Both(), mode="w|") as tar, zipfile.ZipFile(wheel) as archive:
            for info in sorted(archive.infolist(), key=lambda it: it.filename):
                if info.is_dir():
                    continue
                member = tarfile.TarInfo(SITE + info.filename)
                member.size, member.mode = info.file_size, 0o644
                with archive.open(info) as content:
                    tar.addfile(member, content)
        packed.stdin.close()
    digest = subprocess.run(["sha256sum", path], check=True, capture_output=True, text=True).stdout.split()[0]
    size = os.path.getsize(path)
    os.rename(path, f"{layout}/blobs/sha256/{digest}")
    return {"mediaType": OCI + "layer.v1.tar+gzip", "digest": "sha256:" + digest, "size": size}, "sha256:" + plain.hexdigest()


def make_image(layout, wheels):
    os.makedirs(f"{layout}/blobs/sha256")
    layers, diff_ids = zip(*(layer(layout, wheel) for wheel in sorted(wheels)))
    machine = "arm64" if any("aarch64" in wheel for wheel in wheels) else "amd64"
    config = {"architecture": machine, "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": diff_ids}}
    manifest = {"schemaVersion": 2, "mediaType": OCI + "manifest.v1+json",
                "config": {"mediaType": OCI + "config.v1+json", **put(layout, json.dumps(config).encode())}, "layers": layers}
    top = {"mediaType": OCI + "manifest.v1+json", **put(layout, json.dumps(manifest).encode()),
           "annotations": {"org.opencontainers.image.ref.name": "fat"}}
    with open(f"{layout}/index.json", "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 2, "manifests": [top]}, file)
    with open(f"{layout}/oci-layout", "w", encoding="utf-8") as file:
        file.write('{"imageLayoutVersion": "1.0.0"}')
    return sum(it["size"] for it in layers)


def pulled(layout, tag):
    """{label: bytes} of each variant."""
    def blob(digest):
        with open(f"{layout}/blobs/sha256/{digest[7:]}", "rb") as file:
            return json.load(file)

    with open(f"{layout}/index.json", encoding="utf-8") as file:
        tops = json.load(file)["manifests"]
    digest = next(it["digest"] for it in tops if it.get("annotations", {}).get("org.opencontainers.image.ref.name") == tag)
    return {entry["annotations"]["dev.ocivariant.label"]: sum(it["size"] for it in blob(entry["digest"])["layers"])
            for entry in blob(digest)["manifests"] if "dev.ocivariant.label" in entry.get("annotations", {})}


def row(variantctl, place, wheels):
    layout = f"{place}/layout"
    shutil.rmtree(layout, ignore_errors=True)
    fat = make_image(layout, wheels)
    kind = "rocm" if any("rocm" in os.path.basename(wheel) for wheel in wheels) else "cuda"
    cells, seconds = [], []
    for option in ([], ["--vendor-files"]) if kind == "cuda" else ([],):
        found = {}
        for target in TARGETS[kind]:
            begun = time.monotonic()
            run = subprocess.run([variantctl, "slim", *option, f"oci:{layout}:fat", "--for", target, "--to", f"oci:{layout}:slim"],
                                 check=False, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": f"{place}/cache"})
            seconds.append(time.monotonic() - begun)
            found |= pulled(layout, "slim") if run.returncode == 0 else {}
        cells.append(" / ".join(f"{found[label] / 1e6:,.0f}" if label in found else "-"
                                for label in (target.replace("_", "") for target in TARGETS[kind])))
    return f"| {fat / 1e6:,.0f} | {' | '.join(cells)} |", max(seconds)


def main(variantctl, place, *sets):
    for directory in sets:
        wheels = [f"{directory}/{name}" for name in os.listdir(directory) if name.endswith(".whl")]
        text, seconds = row(variantctl, place, wheels)
        print(f"| {os.path.basename(directory)} {text} {seconds:.0f} s at most", flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
