# SPDX-License-Identifier: LGPL-3.0-or-later
"""Vectors as a program is asked: their short forms resolved (schema/spec/vectors/README.md)."""
import base64
import json

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def make_bytes(value):
    if isinstance(value, str):
        return value.encode()
    if "hex" in value:
        return bytes.fromhex(value["hex"])
    if "concat" in value:
        return b"".join(make_bytes(part) for part in value["concat"])
    one = make_bytes(value["repeat"])
    copies = [one.replace(b"#", b"%d" % i) if value.get("number") else one for i in range(value["times"])]
    return make_bytes(value.get("join", "")).join(copies)


def make_strings(value):
    if isinstance(value, list):
        return [make_strings(one) for one in value]
    if not isinstance(value, dict):
        return value
    keys = set(value)
    if keys in ({"hex"}, {"concat"}) or {"repeat", "times"} <= keys:
        return make_bytes(value).decode()
    return {key: make_strings(one) for key, one in value.items()}


def platform_of(value):
    if not isinstance(value, str):
        return value
    name, *features = value.split("+")
    platform = dict(zip(("os", "architecture", "variant"), name.split("/", 2)))
    return dict(platform, **{"os.features": features}) if features else platform


def with_annotations(item):
    out = {key: value for key, value in item.items() if key[:1] != "@"}
    own = {"dev.ocivariant." + key[1:]: value for key, value in item.items() if key[:1] == "@"}
    if own:
        out["annotations"] = dict(item.get("annotations", {}), **own)
    if "platform" in out:
        out["platform"] = platform_of(out["platform"])
    return out


def index_of(value):
    if not isinstance(value, dict):
        return value
    index = {"schemaVersion": 2, "mediaType": INDEX, **with_annotations(value)}
    if isinstance(index.get("manifests"), list):
        index["manifests"] = [
            {"mediaType": MANIFEST, "digest": f"sha256:{i:064x}", "size": 1000 + i, **with_annotations(entry)}
            if isinstance(entry, dict) else entry for i, entry in enumerate(index["manifests"])]
    return index


def profile_of(value):
    if isinstance(value, dict) and "platform" in value:
        return dict(value, platform=platform_of(value["platform"]))
    return value


def expand(vector):
    out = {"id": vector["id"], "kind": vector["kind"]}
    for key in ("text", "mediaType", "options"):
        if key in vector:
            out[key] = make_strings(vector[key])
    for key in ("host", "entry"):
        if key in vector:
            out[key] = platform_of(make_strings(vector[key]))
    if "platform" in out.get("options", {}):
        out["options"] = dict(out["options"], platform=platform_of(out["options"]["platform"]))
    for key, form in (("index", index_of), ("profile", profile_of)):
        if key in vector:
            out[key] = json.dumps(form(make_strings(vector[key])))
        elif key + "Text" in vector:
            out[key + "Base64"] = base64.b64encode(make_bytes(vector[key + "Text"])).decode()
    return out
