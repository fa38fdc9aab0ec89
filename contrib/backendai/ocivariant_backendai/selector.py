# SPDX-License-Identifier: LGPL-3.0-or-later
"""The manager's part: a filter and an order for AgentSelector (backend.ai-manager 26.9).

There is no plug-in group for them. selectors-pool.patch puts `with_variants` around the class where
selectors/pool.py makes the one selector.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from ai.backend.manager.sokovan.scheduler.provisioner.selectors.filters.exclusion.filter import (
    AbstractExclusionTrackerFilter,
)
from ai.backend.manager.sokovan.scheduler.provisioner.selectors.orders.order import AbstractTrackerOrder

from .decide import Decider

log = logging.getLogger(__name__)


class VariantTrackerFilter(AbstractExclusionTrackerFilter):
    """Keeps agents that run the image, all members of a session with one build."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self._reason = ""

    def name(self) -> str:
        return "image-variant"

    def success_message(self) -> str:
        return "Agents that run one build of the image found"

    def failure_message(self, criteria: Any, resource_req: Any) -> str:
        return self._reason or "no agent runs a build of the image"

    def filter(self, trackers: Sequence[Any], criteria: Any, resource_req: Any) -> Sequence[Any]:
        decision = self._decider.decision(trackers, criteria, resource_req)
        if decision is None:
            return trackers
        self._reason = decision.reason
        agents, ranks = decision.agents, decision.ranks
        return [t for t in trackers if agents.get(t.original_agent.agent_id) in ranks]


class VariantOrder(AbstractTrackerOrder):
    """Prefers agents with the better build; within a gang, those that take its build by themselves."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider

    def name(self) -> str:
        return "image-variant"

    def rank(self, tracker: Any, criteria: Any) -> int:
        decider = self._decider
        if criteria is not decider.criteria:
            return 0
        return decider.ranks.get(decider.agents.get(tracker.original_agent.agent_id, -1), 0)


def with_variants(selector: Callable[..., Any], decider: Decider | None = None) -> Callable[..., Any]:
    """AgentSelector, made with one more filter and one more order. Where the library or the database is not to be had,
    as it is: placing without variants is better than a manager that does not start."""

    def make(*arguments: Any, exclusion_filters: Sequence[Any], orders: Sequence[Any], **more: Any) -> Any:
        used = decider
        try:
            if used is None:
                from .sources import Database

                used = Decider(Database.of_environment())
        except Exception:
            log.exception("agents are selected without regard to variants of images")
            return selector(*arguments, exclusion_filters=exclusion_filters, orders=orders, **more)
        return selector(
            *arguments,
            exclusion_filters=[*exclusion_filters, VariantTrackerFilter(used)],
            orders=[*orders, VariantOrder(used)],
            **more,
        )

    return make
