#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Includes are paths from the root of the tree, no header name is there twice, and arrows between
directories, and between the files of one, go one way (docs/internals/architecture.md). Prints what
breaks that, a line each."""
import collections
import os
import re
import subprocess

# Public headers (lib/include/ocivariant/NAME.h) belong to the directory that implements them.
PUBLIC = {
    "lib/base": "attributes buffer error",
    "lib/core": "descriptor digest index manifest platform preferences profile property reference registry_config resolve vocabulary",
    "lib/layout": "layout",
    "lib/match": "match",
    "lib/registry": "registry",
    "lib/registry/signature": "signature",
    "lib/probe": "probe",
}
OWNER = {name: room for room, names in PUBLIC.items() for name in names.split()}
UMBRELLAS = {"ocivariant.h", "ocivariant-registry.h", "ocivariant-probe.h"}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def room(path):
    """The directory that a file belongs to."""
    public = re.match(r"(?:lib/include/)?ocivariant/(\w+)\.h$", path)
    return OWNER[public[1]] if public else os.path.dirname(path)


# What each directory of lib may include besides itself; also applies to its subdirectories.
ALLOWED = {
    "lib/base": "",
    "lib/core": "lib/base",
    "lib/internal/config": "lib/base lib/core",
    "lib/layout": "lib/base lib/core",
    "lib/match": "lib/base lib/core",
    "lib/internal/slurm": "lib/base lib/core lib/match",
    "lib/internal/records": "lib/base lib/core",
    "lib/internal/tags": "lib/base lib/core lib/internal/content",
    "lib/internal/edit": "lib/base lib/core",
    "lib/internal/claim": "lib/base lib/core",
    "lib/internal/fit": "lib/base lib/core lib/internal/config lib/internal/content lib/internal/records lib/internal/tags",
    "lib/internal/lint": "lib/base lib/core lib/internal/tags lib/internal/edit lib/internal/content",
    "lib/internal/grpc": "lib/base",
    "lib/internal/content": "lib/base lib/core",
    "lib/internal/slim": "lib/base lib/core lib/internal/content",
    "lib/registry": "lib/base lib/core lib/layout",
    "lib/probe": "lib/base lib/core",
}


def subject(path):
    """lib/core of lib/core/resolve, lib/internal/tags of lib/internal/tags/plan."""
    return "/".join(path.split("/")[:3 if path.startswith("lib/internal/") else 2])


def forbidden(source, target):
    """Why a file of `source` may not include one of `target`, or None."""
    top = subject(source)
    if top not in ALLOWED or target.startswith(top):
        return None
    if subject(target) in ALLOWED[top].split():
        return None
    return f"{top} includes only {ALLOWED[top] or 'itself'}"


# Trees without cycles between their directories, or between their files.
ACYCLIC = ("lib/", "cmd/", "plugins/")


def reachable(arrows, start):
    """The directories that `start` includes from, through others too."""
    found, todo = set(), [start]
    while todo:
        for target in arrows.get(todo.pop(), ()):
            if target not in found:
                found.add(target)
                todo.append(target)
    return found


def cycles(arrows):
    """Sets of directories that include from each other, sorted."""
    reach = {directory: reachable(arrows, directory) for directory in arrows}
    found = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in arrows if a in reach[a]}
    return sorted(sorted(cycle) for cycle in found)


def modules(includes):
    """Arrows between modules: NAME.c with NAME.h. A header that has no file of its own name is the
    inside of several; what it includes counts for those that include it."""
    own = {os.path.splitext(path)[0] for path in includes if path.endswith(".c")}

    def targets(path, seen):
        found = set()
        for target in includes.get(path, {}):
            if os.path.splitext(target)[0] in own:
                found.add(os.path.splitext(target)[0])
            elif target not in seen:
                seen.add(target)
                found |= targets(target, seen)
        return found

    arrows = collections.defaultdict(dict)
    for path in includes:
        module = os.path.splitext(path)[0]
        for target in targets(path, set()) if module in own else ():
            if target != module:
                arrows[module].setdefault(target, path)
    return arrows


def print_cycles(arrows):
    """Each set of directories or modules that include from each other, and through which file."""
    for cycle in cycles(arrows):
        print(f"{', '.join(cycle)}: these include from each other:")
        for source in cycle:
            for target in sorted(set(arrows[source]) & set(cycle)):
                print(f"    {source} -> {target} ({arrows[source][target]})")


def main():
    listed = subprocess.run(["git", "ls-files", "*.c", "*.h"], check=True, capture_output=True, text=True)
    files = listed.stdout.split()
    arrows = collections.defaultdict(dict)
    includes = collections.defaultdict(dict)
    names = collections.Counter(os.path.basename(f) for f in files if f.endswith(".h"))
    for path in files:
        if path.endswith(".h") and names[os.path.basename(path)] > 1:
            print(f"{path}: another header has this name")
        if path.startswith("test/") or os.path.basename(path) in UMBRELLAS:
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if path.startswith("lib/") and re.search(r"#include <curl/", text) and not path.startswith("lib/registry/"):
            print(f"{path}: libcurl is lib/registry's")
        if re.search(r"#include <pci/", text) and not path.startswith("lib/probe/"):
            print(f"{path}: libpci is lib/probe's (its licence)")
        for target in INCLUDE.findall(text):
            if target in UMBRELLAS or target.startswith("gen/"):
                continue
            if not os.path.exists(target) and not os.path.exists("lib/include/" + target):
                print(f"{path}: \"{target}\" is no path from the root of the tree")
                continue
            source = os.path.dirname(path)
            why = forbidden(source, room(target))
            if why:
                print(f"{path}: \"{target}\": {why}")
            if path.startswith(ACYCLIC) and os.path.exists(target):
                includes[path][target] = True
            # a public header includes nothing from its directory, so it cannot close a cycle
            if path.startswith(ACYCLIC) and source != os.path.dirname(target):
                if os.path.exists(target):
                    arrows[source].setdefault(os.path.dirname(target), path)
    print_cycles(arrows)
    print_cycles(modules(includes))


main()
