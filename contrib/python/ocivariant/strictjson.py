# SPDX-License-Identifier: LGPL-3.0-or-later
"""JSON from outside. Members that are null are left out, at every level."""
from __future__ import annotations

import json
import math
import re
from typing import Any, Dict, List, Optional, Tuple

from .errors import MAX_DEPTH, MAX_DOCUMENT, DataError

# Escapes that are well, and of the others those that are not: U+0000 and halves of surrogate pairs.
_GOOD_ESCAPE = re.compile(r"\\[^u]|\\u[dD][89abAB]..\\u[dD][c-fC-F]..")
_BAD_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_BRACKET = re.compile(r"[\[\]{}]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)  # one that is not closed is read once, too

Object = Dict[str, Any]


def check(good: object, fault: str) -> None:
    if not good:
        raise DataError(fault)


def load_json(data: bytes, most: Optional[int]) -> Object:
    """Read one object of at most so many values. Refuses what the module json lets pass: duplicate keys, text that is
    not UTF-8, halves of surrogate pairs, U+0000 and numbers out of range."""
    check(len(data) <= MAX_DOCUMENT, f"larger than {MAX_DOCUMENT} bytes")
    try:
        text = data.decode("utf-8")
        bare = _STRING.sub("", text)
        # before there is a tree: one of small values takes much more memory than its text
        values = 1 + bare.count(",") + bare.count("[") + 3 * bare.count("{")
        check(most is None or values <= most, f"more than {most} values")
        check(_count_levels(bare) <= MAX_DEPTH, f"more than {MAX_DEPTH} levels")
        check("\\" not in text or not _BAD_ESCAPE.search(_GOOD_ESCAPE.sub(" ", text)),
              "U+0000 or half of a surrogate pair")
        root = json.loads(text, object_pairs_hook=_read_object, parse_int=_read_number, parse_float=_read_number,
                          parse_constant=_read_number)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not valid JSON: {error}") from error
    check(isinstance(root, dict), "not a JSON object")
    members: Object = root
    return members


def _count_levels(bare: str) -> int:
    level = most = 0
    for bracket in _BRACKET.findall(bare):
        level += 1 if bracket in "[{" else -1
        most = max(most, level)
    return most


def _read_object(pairs: List[Tuple[str, Any]]) -> Object:
    members = dict(pairs)
    check(len(members) == len(pairs), "a duplicate key")
    return {key: value for key, value in members.items() if value is not None}


def _read_number(text: str) -> float:
    """A whole number of 64 bits, or a fraction."""
    whole = text.lstrip("-").isdigit()
    check(math.isfinite(float(text)) and (not whole or len(text) <= 20 and -2**63 <= int(text) < 2**63),
          "a number out of range")
    return int(text) if whole else float(text)


def _member(members: Object, key: str, kind: type) -> Any:
    value = members.get(key, kind())
    check(isinstance(value, kind), f"'{key}' is no {kind.__name__}")
    return value


def read_text(members: Object, key: str) -> str:
    """A string member, "" for one that is absent."""
    text: str = _member(members, key, str)
    return text


def read_object(members: Object, key: str) -> Object:
    """An object member, an empty one for one that is absent."""
    value: Object = _member(members, key, dict)
    return value


def read_list(members: Object, key: str, most: int, kind: type = object) -> List[Any]:
    """A list member whose items are of the kind, an empty one for one that is absent."""
    items: List[Any] = _member(members, key, list)
    check(len(items) <= most, f"'{key}' has more than {most} members")
    check(all(isinstance(item, kind) for item in items), f"'{key}' has a member that is no {kind.__name__}")
    return items
