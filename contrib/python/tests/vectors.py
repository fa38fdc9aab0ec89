# SPDX-License-Identifier: LGPL-3.0-or-later
"""Answers test vectors (schema/spec/vectors/README.md, "Asking a program"): one question a line on standard input, one
answer a line on standard output."""
from __future__ import annotations

import base64
import json
import sys
from typing import Any, Dict

from ocivariant import code
from ocivariant.errors import DataError, InvalidError
from ocivariant.index import known_digest, parse_index, well_formed_digest
from ocivariant.options import Options
from ocivariant.platform import Platform, hidden_variant, match_platform
from ocivariant.profiles import parse_profile
from ocivariant.property import parse_properties, readable_label, valid_label
from ocivariant.decision import resolve
from ocivariant.reference import parse_reference


def answer_to(question: Dict[str, Any]) -> Dict[str, Any]:
    kind, text = question["kind"], question.get("text", "")
    if kind == "resolve":
        return resolve_question(question)
    if kind == "properties":
        return properties(text)
    if kind == "label":
        return {"read": readable_label(text), "write": valid_label(text)}
    if kind == "hide":
        return {"variant": hidden_variant(text)}
    if kind == "digest":
        return {"wellFormed": well_formed_digest(text), "known": known_digest(text)}
    if kind == "platform":
        why = match_platform(platform_of(question["host"]), platform_of(question["entry"]))[1]
        return {"match": True} if why == code.NONE else {"match": False, "code": why}
    if kind == "reference":
        return reference(text)
    return {"error": "kind"}


def resolve_question(question: Dict[str, Any]) -> Dict[str, Any]:
    try:
        index = parse_index(document(question, "index"), question.get("mediaType", ""))
    except DataError:
        return {"error": "index"}
    try:
        profile = parse_profile(document(question, "profile"))
    except DataError:
        return {"error": "profile"}
    try:
        decision = resolve(index, profile, options_of(question.get("options", {})))
    except InvalidError:
        return {"error": "options"}
    rejected = []
    for one in decision.rejected:
        rejected.append({"entry": one.entry.position, "code": one.code})
        if one.property:
            rejected[-1]["property"] = one.property
    return {"order": [entry.position for entry in decision.order], "rejected": rejected}


def properties(text: str) -> Dict[str, Any]:
    try:
        return {"properties": [str(one) for one in parse_properties(text)]}
    except DataError:
        return {"error": "properties"}


def reference(text: str) -> Dict[str, Any]:
    try:
        return {key: part for key, part in vars(parse_reference(text)).items() if part}
    except InvalidError:
        return {"error": "reference"}


def document(question: Dict[str, Any], key: str) -> bytes:
    """The text, or the bytes of one that is not UTF-8."""
    if key + "Base64" in question:
        return base64.b64decode(question[key + "Base64"])
    text: str = question[key]
    return text.encode("utf-8", "surrogatepass")


def platform_of(members: Dict[str, Any]) -> Platform:
    return Platform(members.get("os", ""), members.get("architecture", ""), members.get("variant", ""),
                    members.get("os.version", ""), tuple(members.get("os.features", ())))


def options_of(members: Dict[str, Any]) -> Options:
    return Options(members.get("namespacePriority", []), members.get("disable", []), members.get("require", []),
                   members.get("devicePolicy", {}), members.get("devices", {}), members.get("label"),
                   platform_of(members["platform"]) if "platform" in members else None)


def main() -> None:
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps({"id": question["id"], "answer": answer_to(question)}), flush=True)


if __name__ == "__main__":
    main()
