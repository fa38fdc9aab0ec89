# SPDX-License-Identifier: LGPL-3.0-or-later
"""The order of a decision, for clients that pick from the index by themselves."""
from __future__ import annotations

from typing import Dict

from .index import Descriptor
from .decision import Decision


class Comparer:
    """Orders descriptors of one index as a decision does."""

    def __init__(self, decision: Decision) -> None:
        self._places: Dict[str, int] = {}
        for place, entry in enumerate(decision.order):
            self._places.setdefault(entry.digest, place)

    def match(self, descriptor: Descriptor) -> bool:
        """Does the host run the image of the descriptor?"""
        return descriptor.digest in self._places

    def less(self, a: Descriptor, b: Descriptor) -> bool:
        """Is a better than b? What does not fit is worse than all that does."""
        worst = len(self._places)
        return self._places.get(a.digest, worst) < self._places.get(b.digest, worst)
