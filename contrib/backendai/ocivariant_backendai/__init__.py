# SPDX-License-Identifier: LGPL-3.0-or-later
"""Variants of container images for Backend.AI.

The agent's part is `plugin` (a compute plug-in without slots, whose extra information is the node's profile), the
manager's part is `selector` (a filter and an order of agents, over libocivariant). See docs/backendai.md.
"""
