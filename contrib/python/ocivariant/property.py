# SPDX-License-Identifier: LGPL-3.0-or-later
"""Properties and labels: what an image needs and a host has."""
from __future__ import annotations

import re
from typing import List, NamedTuple

from .errors import MAX_LABEL, MAX_PROPERTIES, MAX_PROPERTIES_BYTES, DataError

NAME_GRAMMAR = re.compile(r"[a-z0-9_]+")
VALUE_GRAMMAR = re.compile(r"[a-z0-9_.]+")
LABEL_GRAMMAR = re.compile(r"[a-z0-9]+([._][a-z0-9]+)*")
WHITE_SPACE = " \t\n\r\v\f"  # that lists may have around their pieces


class Property(NamedTuple):
    """One property; str() is its canonical form, "namespace :: feature :: value"."""
    namespace: str
    feature: str
    value: str

    def __str__(self) -> str:
        return " :: ".join(self)


def parse_property(text: str) -> Property:
    """Parse "namespace :: feature :: value" with free white space. Anything else is a DataError."""
    parts = split_selector(text)
    if len(parts) != 3:
        raise DataError(f"'{text[:100]}' is not a property (namespace :: feature :: value, lower case)")
    return Property(*parts)


def parse_properties(text: str) -> List[Property]:
    """Parse a list joined by commas: the properties sorted, each once; a blank text is the empty list. More than 4,000
    bytes, more than 512 properties or a bad one is a DataError."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_PROPERTIES_BYTES or text.count(",") >= MAX_PROPERTIES:
        raise DataError(f"more than {MAX_PROPERTIES_BYTES} bytes or {MAX_PROPERTIES} properties")
    if not text.strip(WHITE_SPACE):
        return []
    return sorted({parse_property(piece) for piece in text.split(",")})


def readable_label(label: str) -> bool:
    """Do readers accept the label: 1 to 63 of a-z 0-9 _ . but neither "." nor ".."?"""
    return len(label) <= MAX_LABEL and label not in (".", "..") and bool(VALUE_GRAMMAR.fullmatch(label))


def valid_label(label: str) -> bool:
    """May writers give the label: at most 48 characters, words of a-z 0-9 with one "." or "_" between two?"""
    return len(label) <= 48 and bool(LABEL_GRAMMAR.fullmatch(label))


def split_selector(text: str) -> List[str]:
    """A namespace, and may be a feature and a value of it, with free white space; else none."""
    parts = [part.strip(WHITE_SPACE) for part in text.split("::")]
    grammars = (NAME_GRAMMAR, NAME_GRAMMAR, VALUE_GRAMMAR)
    good = len(parts) <= 3 and all(grammar.fullmatch(part) for grammar, part in zip(grammars, parts))
    return parts if good else []


def lower(text: str) -> str:
    """Change ASCII letters alone."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
