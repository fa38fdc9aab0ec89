# SPDX-License-Identifier: LGPL-3.0-or-later
"""Image indexes whose entries say what hardware they need."""
from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Tuple

from . import code
from .errors import (MAX_DIGEST, MAX_DOCUMENT, MAX_ENTRIES, MAX_INDEX_NAMESPACES, MAX_PROPERTIES, MAX_PROPERTIES_BYTES,
                     MAX_STATIC_VALUES, MAX_STATICS, MAX_VALUES, DataError, about)
from .platform import Platform, is_hidden
from .profiles import Feature, Namespace
from .property import (NAME_GRAMMAR, WHITE_SPACE, Property, lower, parse_properties, parse_property, readable_label)
from .strictjson import Object, check, load_json, read_list, read_object, read_text

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
# Without a list in the index these come last, in this order: interfaces, then processors.
LAST_NAMESPACES = "vulkan aarch64 loongarch64 ppc64le riscv64 s390x x86_64".split()

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
    with about("index"):
        root = load_json(data, MAX_VALUES)
        check_is_index(root, content_type)
        annotations = read_object(root, "annotations")
        entries = [read_entry(*one) for one in enumerate(read_list(root, "manifests", MAX_ENTRIES))]
        reject_duplicate_labels(entries)
        for entry in entries:
            if annotations.get(ANNOTATION_SCHEMA, "1") != "1" and entry.kind != NON_VARIANT:
                entry.code = entry.code or code.SCHEMA
        return Index("sha256:" + hashlib.sha256(data).hexdigest(), entries,
                     read_namespaces(entries, annotations.get(ANNOTATION_NAMESPACES)),
                     any(entry.kind != NON_VARIANT for entry in entries), read_statics(annotations))


def check_is_index(root: Object, content_type: str) -> None:
    """The body decides; the content type can only contradict it."""
    said, sent = lower(read_text(root, "mediaType")), lower(content_type.split(";")[0].strip(" \t"))
    typed, sent_index = "mediaType" in root, sent in INDEX_TYPES
    check("layers" not in root and (not typed or said in INDEX_TYPES), "it is not an index")
    check(typed or sent_index or "manifests" in root, "nothing says that it is an index")
    check(sent not in MANIFEST_TYPES and (not typed or not sent_index or sent == said), f"it was sent as '{sent}'")


def read_entry(position: int, value: Any) -> Entry:
    """Read one entry. What is wrong with all of the index is raised."""
    try:
        entry, annotations = read_descriptor(position, value)
    except DataError:
        return Entry(position=position, code=code.MALFORMED)
    label, properties = annotations.get(ANNOTATION_LABEL), annotations.get(ANNOTATION_PROPERTIES)
    if label is not None or properties is not None:
        entry.kind = NULL if label == "null" else VARIANT
    if isinstance(label, str) and readable_label(label):
        entry.label = label
        check(not isinstance(properties, str) or properties.count(",") < MAX_PROPERTIES,
              f"entry {position} has more than {MAX_PROPERTIES} properties")
    why = variant_code(entry, label, properties)
    entry.code = image_code(entry, annotations) or why
    return entry


def read_descriptor(position: int, members: Any) -> Tuple[Entry, Object]:
    """Also all annotations, those that are no texts, too."""
    check(isinstance(members, dict), "it is not an object")
    annotations, platform = read_object(members, "annotations"), read_object(members, "platform")
    digest, size, artifact = read_text(members, "digest"), members.get("size"), members.get("artifactType")
    check("mediaType" in members and well_formed_digest(digest) and type(size) is int and size >= 0,
          "mediaType, digest or size is missing or malformed")
    features = sorted(read_list(platform, "os.features", MAX_DOCUMENT, str))  # a set: equal ones are easy to find
    texts = {key: text for key, text in annotations.items() if isinstance(text, str)}
    runs_on = Platform(read_text(platform, "os"), read_text(platform, "architecture"), read_text(platform, "variant"),
                       read_text(platform, "os.version"), tuple(features))
    return Entry(read_text(members, "mediaType"), digest, size, texts, runs_on,
                 artifact if isinstance(artifact, str) else "", position), annotations


def image_code(entry: Entry, annotations: Object) -> str:
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


def variant_code(entry: Entry, label: Any, properties: Any) -> str:
    """Read the properties; the code of what is wrong with label and properties."""
    if entry.kind == NON_VARIANT:
        return code.NONE
    if not entry.label:
        return code.LABEL_MISSING if label is None else code.BAD_LABEL
    if properties is None:
        return code.PROPERTIES_MISSING
    if not isinstance(properties, str):
        return code.BAD_PROPERTIES
    if len(properties.encode()) > MAX_PROPERTIES_BYTES:
        return code.TOO_LONG
    try:
        entry.properties = parse_properties(properties)
    except DataError:
        return code.BAD_PROPERTIES
    if entry.kind == NULL:
        return code.NULL_WITH_PROPERTIES if entry.properties else code.NONE
    return code.NONE if entry.properties else code.EMPTY_NOT_NULL


def reject_duplicate_labels(entries: List[Entry]) -> None:
    """Reject all entries of a label that stands twice on a platform: nothing tells them apart."""
    first: Dict[Any, Entry] = {}
    for entry in entries:
        key = entry.label, replace(entry.platform, variant=entry.platform.normal().variant)
        if entry.label and not entry.code and first.setdefault(key, entry) is not entry:
            first[key].code = entry.code = code.DUPLICATE_LABEL


def read_namespaces(entries: List[Entry], annotation: Any) -> List[str]:
    """The index's order of namespaces: the listed one, or that of all that are in use."""
    used = sorted({one.namespace for entry in entries for one in entry.properties})
    used.sort(key=lambda name: LAST_NAMESPACES.index(name) if name in LAST_NAMESPACES else -1)
    names = [name.strip(WHITE_SPACE) for name in annotation.split(",")] if isinstance(annotation, str) else []
    listed = list(dict.fromkeys(name for name in names if NAME_GRAMMAR.fullmatch(name)))
    check(max(len(used), len(listed)) <= MAX_INDEX_NAMESPACES, f"it has more than {MAX_INDEX_NAMESPACES} namespaces")
    return used if annotation is None else listed


def read_statics(annotations: Object) -> Dict[str, Namespace]:
    """The namespaces that the index itself defines; what is not one is ignored."""
    statics = {}
    for key, text in annotations.items():
        name = key[len(ANNOTATION_STATIC):]
        if key.startswith(ANNOTATION_STATIC) and isinstance(text, str) and NAME_GRAMMAR.fullmatch(name) and \
                name not in VOCABULARY:
            statics[name] = Namespace(name, read_static(name, text))
    check(len(statics) <= MAX_STATICS, f"it has more than {MAX_STATICS} static namespaces")
    return statics


def read_static(namespace: str, text: str) -> List[Feature]:
    """No feature for a malformed list: better no variant than one ranked by half a list."""
    features: Dict[str, List[str]] = {}
    pieces = text.strip(WHITE_SPACE).split(",")
    if not pieces[-1].strip(WHITE_SPACE):
        pieces.pop()  # there is nothing behind a final comma
    try:
        check(len(pieces) <= MAX_STATIC_VALUES, f"more than {MAX_STATIC_VALUES} values")
        for piece in pieces:
            one = parse_property(f"{namespace}::{piece}")
            features.setdefault(one.feature, []).append(one.value)
    except DataError:
        return []
    return [Feature(name, list(dict.fromkeys(values))) for name, values in features.items()]


def well_formed_digest(digest: str) -> bool:
    """Has the text a digest's form, also of an algorithm that is not known here?"""
    registered = digest.startswith(("sha256:", "sha512:"))
    return len(digest) <= MAX_DIGEST and bool(_DIGEST_GRAMMAR.fullmatch(digest)) and \
        (not registered or known_digest(digest))


def known_digest(digest: str) -> bool:
    """Is it a sha256 or sha512 digest, against which content can be checked?"""
    return bool(_REGISTERED_GRAMMAR.fullmatch(digest))
