# SPDX-License-Identifier: LGPL-3.0-or-later
"""Image indexes whose entries say what hardware they need."""
from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List

from . import code
from .errors import (MAX_DIGEST, MAX_DOCUMENT, MAX_ENTRIES, MAX_INDEX_NAMESPACES, MAX_PROPERTIES, MAX_PROPERTIES_BYTES,
                     MAX_STATIC_VALUES, MAX_STATICS, MAX_VALUES, DataError)
from .platform import Platform, is_hidden, normal_variant
from .profiles import Feature, Namespace
from .property import (NAME_GRAMMAR, VALUE_GRAMMAR, Property, list_pieces, lower, parse_properties, readable_label,
                       split_trimmed)
from .strictjson import Fields, load_json

ANNOTATION_LABEL = "dev.ocivariant.label"
ANNOTATION_PROPERTIES = "dev.ocivariant.properties"
ANNOTATION_SCHEMA = "dev.ocivariant.schema"
ANNOTATION_NAMESPACES = "dev.ocivariant.namespaces"
ANNOTATION_STATIC = "dev.ocivariant.static."
ANNOTATION_REFERENCE = "vnd.docker.reference.type"

# Providers report these namespaces, so that no index may define one as static.
VOCABULARY = frozenset(
    "aarch64 amd ascend axelera blaize brainchip cambricon coral deepx dmatrix enflame etched furiosa graphcore groq "
    "habana hailo hygon intel kunlunxin lightmatter loongarch64 memryx metax moorethreads neuron nextsilicon nvidia "
    "ppc64le qualcomm rebellions riscv64 rockchip s390x sophgo tenstorrent tpu untether vastai vulkan x86_64 "
    "xdna".split())
# Without a list in the index these namespaces come last, the processors' after the interfaces'.
API_NAMESPACES = frozenset(["vulkan"])
CPU_NAMESPACES = frozenset("aarch64 loongarch64 ppc64le riscv64 s390x x86_64".split())

INDEX_TYPES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFEST_TYPES = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
# artifactType of real images: builders may repeat the configuration's type there
IMAGE_ARTIFACT_TYPES = ("", "application/vnd.oci.image.config.v1+json",
                        "application/vnd.docker.container.image.v1+json") + MANIFEST_TYPES
_DIGEST_GRAMMAR = re.compile(r"[a-z0-9]+([+._-][a-z0-9]+)*:[a-zA-Z0-9=_-]+")
_REGISTERED_GRAMMAR = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")

VARIANT, NULL, NON_VARIANT = range(3)  # kinds of entries, in the order in which they are taken


@dataclass
class Descriptor:
    """The fields of an OCI descriptor that matter for the choice."""
    media_type: str = ""
    digest: str = ""
    size: int = 0
    annotations: Dict[str, str] = field(default_factory=dict)
    platform: Platform = Platform()
    artifact_type: str = ""


@dataclass
class Entry(Descriptor):
    """One entry of an index. Of one without a proper descriptor the descriptor is empty."""
    position: int = 0  # place in the index, from 0
    kind: int = NON_VARIANT  # meaningful where code is NONE
    code: str = code.NONE  # or why no host can use it
    label: str = ""  # "" without one, and where it is not readable
    properties: List[Property] = field(default_factory=list)  # sorted, each once

    def reject(self, why: str) -> None:
        self.code = self.code or why

    def is_unfinished(self) -> bool:
        """Is it hidden, but without annotations: a variant yet to be annotated?"""
        return self.kind == NON_VARIANT and is_hidden(self.platform.variant)


@dataclass
class Index:
    """A parsed image index."""
    digest: str  # sha256 of the bytes
    entries: List[Entry]  # all of them, unusable ones included
    namespaces: List[str]  # most important first
    has_variants: bool  # an entry has variant annotations, well-formed or not
    statics: Dict[str, Namespace]


def parse_index(data: bytes, content_type: str = "") -> Index:
    """Parse an index or a Docker manifest list. `content_type` is what the registry called it, or "". A document that
    is not an index, or is over a limit, is a DataError. A malformed entry is kept with its code, and the rest of the
    index stands."""
    f = Fields("index", load_json("index", data, MAX_VALUES))
    check_is_index(f, content_type)
    manifests, annotations = f.list("manifests", MAX_ENTRIES), f.object("annotations")
    entries = [read_entry(f, position, value) for position, value in enumerate(manifests)]
    reject_duplicate_labels(entries)
    for entry in entries:
        if annotations.get(ANNOTATION_SCHEMA, "1") != "1" and entry.kind != NON_VARIANT:
            entry.reject(code.SCHEMA)
    return Index("sha256:" + hashlib.sha256(data).hexdigest(), entries, read_namespaces(f, entries, annotations),
                 any(entry.kind != NON_VARIANT for entry in entries), read_statics(f, annotations))


def check_is_index(f: Fields, content_type: str) -> None:
    """The body decides; the content type can only contradict it."""
    said, sent = lower(f.text("mediaType")), lower(content_type.split(";")[0].strip(" \t"))
    if f.has("layers") or f.has("mediaType") and said not in INDEX_TYPES:
        raise f.fault("it is not an index")
    if not f.has("manifests") and not f.has("mediaType") and sent not in INDEX_TYPES:
        raise f.fault("nothing says that it is an index")
    if sent in MANIFEST_TYPES or f.has("mediaType") and sent in INDEX_TYPES and sent != said:
        raise f.fault(f"it was sent as '{sent}'")


def read_entry(f: Fields, position: int, value: Any) -> Entry:
    """Read one entry. What is wrong with all of the index is raised."""
    try:
        e = Fields("entry", value)
        annotations = e.object("annotations")
        entry = read_descriptor(e, position, annotations)
    except DataError:
        return Entry(position=position, code=code.MALFORMED)
    entry.code = skip_code(entry, annotations)
    read_variant(f, entry, annotations)
    return entry


def read_descriptor(e: Fields, position: int, annotations: Dict[str, Any]) -> Entry:
    digest, size, artifact = e.text("digest"), e.members.get("size"), e.members.get("artifactType")
    if not e.has("mediaType") or not well_formed_digest(digest) or type(size) is not int or size < 0:
        raise e.fault("mediaType, digest or size is missing or malformed")
    texts = {key: text for key, text in annotations.items() if isinstance(text, str)}
    platform = read_platform(e.members["platform"]) if e.has("platform") else Platform()
    return Entry(e.text("mediaType"), digest, size, texts, platform, artifact if isinstance(artifact, str) else "",
                 position)


def read_platform(value: Any) -> Platform:
    p = Fields("platform", value)
    features = sorted(p.texts("os.features", MAX_DOCUMENT))  # a set: two entries with the same ones are easy to find
    return Platform(p.text("os"), p.text("architecture"), p.text("variant"), p.text("os.version"), tuple(features))


def skip_code(entry: Entry, annotations: Dict[str, Any]) -> str:
    """The code of an entry that is not an image, whatever its annotations say."""
    if ANNOTATION_REFERENCE in annotations:
        return code.ATTESTATION
    if entry.media_type in INDEX_TYPES:
        return code.NESTED
    if entry.media_type not in MANIFEST_TYPES:
        return code.MEDIA_TYPE
    if entry.artifact_type not in IMAGE_ARTIFACT_TYPES:
        return code.ARTIFACT
    if entry.platform.os == entry.platform.architecture == "unknown":
        return code.UNKNOWN_PLATFORM
    return code.NONE if known_digest(entry.digest) else code.DIGEST_ALGORITHM


def read_variant(f: Fields, entry: Entry, annotations: Dict[str, Any]) -> None:
    """Read label and properties. What is wrong with all of the index is raised."""
    label, text = annotations.get(ANNOTATION_LABEL), annotations.get(ANNOTATION_PROPERTIES)
    if label is None and text is None:
        return
    entry.kind = VARIANT
    if label is None:
        entry.reject(code.LABEL_MISSING)
    elif not isinstance(label, str) or not readable_label(label):
        entry.reject(code.BAD_LABEL)
    else:
        entry.label = label
        entry.reject(read_properties(f, entry, text))
        if not entry.code and label == "null":
            entry.kind = NULL


def read_properties(f: Fields, entry: Entry, text: Any) -> str:
    """Read the properties of an entry with a label; the code of what is wrong with them."""
    if text is None:
        return code.PROPERTIES_MISSING
    if not isinstance(text, str):
        return code.BAD_PROPERTIES
    if text.count(",") >= MAX_PROPERTIES:
        raise f.fault(f"entry {entry.position} has more than {MAX_PROPERTIES} properties")
    if len(text.encode()) > MAX_PROPERTIES_BYTES:
        return code.TOO_LONG
    try:
        entry.properties = parse_properties(text)
    except DataError:
        return code.BAD_PROPERTIES
    if entry.label == "null":
        return code.NULL_WITH_PROPERTIES if entry.properties else code.NONE
    return code.NONE if entry.properties else code.EMPTY_NOT_NULL


def reject_duplicate_labels(entries: List[Entry]) -> None:
    """Reject all entries of a label that stands twice on a platform: nothing tells them apart."""
    groups: Dict[Any, List[Entry]] = {}
    for entry in entries:
        if entry.label and not entry.code:
            p = entry.platform
            key = (entry.label, p.os, p.architecture, p.os_version, normal_variant(p),
                   p.os_features)
            groups.setdefault(key, []).append(entry)
    for group in groups.values():
        for entry in group:
            if len(group) > 1:
                entry.reject(code.DUPLICATE_LABEL)


def read_namespaces(f: Fields, entries: List[Entry], annotations: Dict[str, Any]) -> List[str]:
    """The index's order of namespaces: the listed one, or that of all that are in use."""
    used = used_namespaces(entries)
    if len(used) > MAX_INDEX_NAMESPACES:
        raise f.fault(f"it uses more than {MAX_INDEX_NAMESPACES} namespaces")
    text = annotations.get(ANNOTATION_NAMESPACES)
    if text is None:
        return used
    pieces = list_pieces(text) if isinstance(text, str) else []
    listed = list(dict.fromkeys(name for name in pieces if NAME_GRAMMAR.fullmatch(name)))
    if len(listed) > MAX_INDEX_NAMESPACES:
        raise f.fault(f"it lists more than {MAX_INDEX_NAMESPACES} namespaces")
    return listed


def used_namespaces(entries: List[Entry]) -> List[str]:
    """The namespaces of all properties: most of them, then those of interfaces, then those of processors, each in
    lexical order."""
    used = {one.namespace for entry in entries for one in entry.properties}
    return sorted(used, key=lambda name: (namespace_turn(name), name))


def namespace_turn(namespace: str) -> int:
    return 2 if namespace in CPU_NAMESPACES else 1 if namespace in API_NAMESPACES else 0


def read_statics(f: Fields, annotations: Dict[str, Any]) -> Dict[str, Namespace]:
    """The namespaces that the index itself defines; what is not one is ignored."""
    statics = {}
    for key, text in annotations.items():
        name = key[len(ANNOTATION_STATIC):]
        if key.startswith(ANNOTATION_STATIC) and isinstance(text, str) and NAME_GRAMMAR.fullmatch(name) and \
                name not in VOCABULARY:
            statics[name] = Namespace(name, read_static(text))
    if len(statics) > MAX_STATICS:
        raise f.fault(f"it has more than {MAX_STATICS} static namespaces")
    return statics


def read_static(text: str) -> List[Feature]:
    """No feature for a malformed list: better no variant than one ranked by half a list."""
    features: Dict[str, List[str]] = {}
    pieces = list_pieces(text)
    if len(pieces) > MAX_STATIC_VALUES:
        return []
    for piece in pieces:
        parts = split_trimmed(piece, "::")
        if len(parts) != 2 or not NAME_GRAMMAR.fullmatch(parts[0]) or not VALUE_GRAMMAR.fullmatch(parts[1]):
            return []
        features.setdefault(parts[0], []).append(parts[1])
    return [Feature(name, list(dict.fromkeys(values))) for name, values in features.items()]


def well_formed_digest(digest: str) -> bool:
    """Has the text a digest's form, also of an algorithm that is not known here?"""
    registered = digest.startswith(("sha256:", "sha512:"))
    return len(digest) <= MAX_DIGEST and bool(_DIGEST_GRAMMAR.fullmatch(digest)) and \
        (not registered or known_digest(digest))


def known_digest(digest: str) -> bool:
    """Is it a sha256 or sha512 digest, against which content can be checked?"""
    return bool(_REGISTERED_GRAMMAR.fullmatch(digest))
