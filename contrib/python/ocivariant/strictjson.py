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


def load_json(what: str, data: bytes, values: Optional[int]) -> Dict[str, Any]:
    """Read one object. Refuses what the module json lets pass: duplicate keys, text that is not UTF-8, halves of
    surrogate pairs, U+0000 and numbers out of range."""
    if len(data) > MAX_DOCUMENT:
        raise DataError(f"{what} is larger than {MAX_DOCUMENT} bytes")
    try:
        text = data.decode("utf-8")
        bare = _STRING.sub("", text)
        if values is not None and _count_values(bare) > values:
            raise DataError(f"{what} has more than {values} values")
        if _count_levels(bare) > MAX_DEPTH:
            raise DataError(f"{what} has more than {MAX_DEPTH} levels")
        if "\\" in text and _BAD_ESCAPE.search(_GOOD_ESCAPE.sub(" ", text)):
            raise ValueError("U+0000 or half of a surrogate pair")
        root = json.loads(text, object_pairs_hook=_read_object, parse_int=_read_whole, parse_float=_read_fraction,
                          parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{what} is not valid JSON: {error}") from error
    if not isinstance(root, dict):
        raise DataError(f"{what} is not a JSON object")
    return root


def _count_values(bare: str) -> int:
    """Their number, before there is a tree: one of small values takes much more memory than its text."""
    return 1 + bare.count(",") + bare.count("[") + 3 * bare.count("{")


def _count_levels(bare: str) -> int:
    level = most = 0
    for bracket in _BRACKET.findall(bare):
        level += 1 if bracket in "[{" else -1
        most = max(most, level)
    return most


def _read_object(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("duplicate key")
    return {key: value for key, value in pairs if value is not None}


def _read_whole(text: str) -> int:
    if len(text) > 20 or not -2**63 <= int(text) < 2**63:
        raise ValueError("number out of range")
    return int(text)


def _read_fraction(text: str) -> float:
    if math.isinf(float(text)):
        raise ValueError("number out of range")
    return float(text)


def _refuse(text: str) -> Any:
    raise ValueError(text)


class Fields:
    """Reads the members of one object."""

    def __init__(self, what: str, value: Any) -> None:
        self.what = what
        if not isinstance(value, dict):
            raise self.fault("it is not an object")
        self.members: Dict[str, Any] = value

    def fault(self, why: str) -> DataError:
        return DataError(f"{self.what}: {why}")

    def has(self, key: str) -> bool:
        return key in self.members

    def text(self, key: str) -> str:
        """A string member, "" for one that is absent."""
        text = self.members.get(key, "")
        if not isinstance(text, str):
            raise self.fault(f"'{key}' is not a string")
        return text

    def object(self, key: str) -> Dict[str, Any]:
        """An object member, an empty one for one that is absent."""
        members = self.members.get(key, {})
        if not isinstance(members, dict):
            raise self.fault(f"'{key}' is not an object")
        return members

    def list(self, key: str, most: int) -> List[Any]:
        """A list member, an empty one for one that is absent. More items than `most` are an error."""
        items = self.members.get(key, [])
        if not isinstance(items, list):
            raise self.fault(f"'{key}' is not a list")
        if len(items) > most:
            raise self.fault(f"'{key}' has more than {most} members")
        return items

    def texts(self, key: str, most: int) -> List[str]:
        """A list of strings."""
        texts = self.list(key, most)
        if not all(isinstance(text, str) for text in texts):
            raise self.fault(f"'{key}' has a member that is not a string")
        return texts
