#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""fat_layout.py DIR: an OCI layout of images that are as hard to read as the limits allow.

Tags: `configs`, an index whose 16 images say their platform in configurations of 64 KiB alone; `nested`, an
index of 64 indexes of 16 KiB; `labels`, a single image with a configuration of 1 MiB. The JSON in them is
what becomes the largest tree: empty objects, as many as may be read; in `stuffed`, likewise, are more."""
import hashlib
import json
import os
import sys

OCI = "application/vnd.oci.image."
blobs = os.path.join(sys.argv[1], "blobs", "sha256")


def put(data, kind, **more):
    """The descriptor of these bytes."""
    digest = hashlib.sha256(data).hexdigest()
    with open(os.path.join(blobs, digest), "wb") as file:
        file.write(data)
    return {"mediaType": OCI + kind, "digest": "sha256:" + digest, "size": len(data)} | more


def filled(document, key, objects, size):
    """With so many objects under that key, and blanks up to that size."""
    text = json.dumps(document)[:-1] + f', "{key}": [' + ",".join(["{}"] * objects) + "]"
    return (text + " " * (size - len(text) - 1) + "}").encode()


def image(name, objects, size, **more):
    config = {"architecture": "amd64", "os": "linux", "name": name, "rootfs": {"type": "layers", "diff_ids": []}}
    manifest = {"schemaVersion": 2, "mediaType": OCI + "manifest.v1+json",
                "config": put(filled(config, "history", objects, size), "config.v1+json"), "layers": []}
    return put(json.dumps(manifest).encode(), "manifest.v1+json", **more)


def index(manifests, **more):
    return {"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": manifests} | more


def main():
    os.makedirs(blobs, exist_ok=True)
    variant = {"annotations": {"dev.ocivariant.label": "a", "dev.ocivariant.properties": "x86_64 :: level :: v3"}}
    one = image("one", 1, 1000, platform={"os": "linux", "architecture": "amd64"}, **variant)
    # an object counts three times, and what is around them some
    configs = index([one] + [image(f"c{i}", 5400, 65536) for i in range(16)])
    nested = [put(filled(index([], annotations={"n": str(i)}), "x", 5400, 16384), "index.v1+json") for i in range(64)]
    tags = {"configs": put(json.dumps(configs).encode(), "index.v1+json"),
            "nested": put(json.dumps(index([one] + nested)).encode(), "index.v1+json"),
            "labels": image("labels", 87000, 1048576), "stuffed": image("stuffed", 340000, 1048576)}
    with open(os.path.join(sys.argv[1], "oci-layout"), "w", encoding="utf-8") as file:
        file.write('{"imageLayoutVersion": "1.0.0"}')
    with open(os.path.join(sys.argv[1], "index.json"), "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 2, "manifests": [d | {"annotations": {"org.opencontainers.image.ref.name": tag}}
                                                     for tag, d in tags.items()]}, file)


main()
