# SPDX-License-Identifier: LGPL-3.0-or-later
"""Properties and labels: what an image needs and a host has."""
from __future__ import annotations

import re
from typing import List, NamedTuple, Sequence

from .errors import MAX_LABEL, MAX_PROPERTIES, MAX_PROPERTIES_BYTES, DataError

NAME_GRAMMAR = re.compile(r"[a-z0-9_]+")
VALUE_GRAMMAR = re.compile(r"[a-z0-9_.]+")
LABEL_GRAMMAR = re.compile(r"[a-z0-9]+([._][a-z0-9]+)*")
_SPACE = " \t\n\r\v\f"


class Property(NamedTuple):
    """One property; str() is its canonical form, "namespace :: feature :: value"."""
    namespace: str
    feature: str
    value: str

    def __str__(self) -> str:
        return " :: ".join(self)


def parse_property(text: str) -> Property:
    """Parse "namespace :: feature :: value" with free white space. Anything else is a DataError."""
    parts = split_trimmed(text, "::")
    if len(parts) != 3 or not is_selector(parts):
        raise DataError(f"'{text[:100]}' is not a property (namespace :: feature :: value, lower case)")
    return Property(*parts)


def parse_properties(text: str) -> List[Property]:
    """Parse a list joined by commas: the properties sorted, each once; a blank text is the empty list. More than 4,000
    bytes, more than 512 properties or a bad one is a DataError."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_PROPERTIES_BYTES or text.count(",") >= MAX_PROPERTIES:
        raise DataError(f"more than {MAX_PROPERTIES_BYTES} bytes or {MAX_PROPERTIES} properties")
    if not text.strip(_SPACE):
        return []
    return sorted({parse_property(piece) for piece in text.split(",")})


def readable_label(label: str) -> bool:
    """Do readers accept the label: 1 to 63 of a-z 0-9 _ . but neither "." nor ".."?"""
    return len(label) <= MAX_LABEL and label not in (".", "..") and bool(VALUE_GRAMMAR.fullmatch(label))


def valid_label(label: str) -> bool:
    """May writers give the label: at most 48 characters, words of a-z 0-9 with one "." or "_" between two?"""
    return len(label) <= 48 and bool(LABEL_GRAMMAR.fullmatch(label))


def is_selector(parts: Sequence[str]) -> bool:
    """Are the parts a namespace, and may be a feature and a value of it?"""
    grammars = (NAME_GRAMMAR, NAME_GRAMMAR, VALUE_GRAMMAR)
    return len(parts) <= 3 and all(grammar.fullmatch(part) for grammar, part in zip(grammars, parts))


def split_trimmed(text: str, separator: str) -> List[str]:
    """The pieces without the white space that lists may have around them."""
    return [piece.strip(_SPACE) for piece in text.split(separator)]


def list_pieces(text: str) -> List[str]:
    """Split at commas. Behind a final comma there is no piece."""
    pieces = split_trimmed(text.strip(_SPACE), ",")
    return pieces if pieces[-1] else pieces[:-1]


def lower(text: str) -> str:
    """Change ASCII letters alone."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
