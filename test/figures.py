#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How large the house is, and how it reads: figures of the product's C and of the Go and Python readers, without tests
and generated files.

    test/figures.py             the figures
    test/figures.py --rooms     a table of the directories, as docs/internals/architecture.md has it"""
import ast
import re
import subprocess
import sys

ROOMS = ("lib/base", "lib/core lib/layout lib/match lib/include", "lib/registry", "lib/probe", "lib/internal",
         "cmd/common", "cmd/vpull", "cmd/variantctl", "cmd/variantd", "plugins")


def sources():
    """Lines of each file of the product, by its path."""
    listed = subprocess.run(["git", "ls-files", "lib/*.[ch]", "cmd/*.[ch]", "plugins/*.[ch]"],
                            check=True, capture_output=True, text=True).stdout.split()
    files = {}
    for path in listed:
        with open(path, encoding="utf-8") as file:
            files[path] = file.read().splitlines()
    return files


def functions(lines):
    """(name, is static, lines from `{` to `}`) of each function; the layout is clang-format's."""
    head = opened = None
    for number, line in enumerate(lines):
        if re.match(r"[A-Za-z_].*\(", line) and not line.startswith("typedef"):
            head = line
        if line == "{" and head:
            opened = number
        if line == "}" and opened is not None:
            name = re.search(r"(\w+)\(", head)
            yield name[1], head.startswith("static"), number - opened + 1
            head = opened = None
        if line.endswith(";") and opened is None:
            head = None


def code(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def statements(pattern):
    """Lines of the files that hold more than white space, a comment, documentation or closing brackets."""
    count = 0
    for path in subprocess.run(["git", "ls-files", pattern], check=True, capture_output=True, text=True).stdout.split():
        if path.endswith("_test.go"):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)) if path.endswith(".py") else ():
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
                lines[body[0].lineno - 1:body[0].end_lineno] = [""] * (body[0].end_lineno - body[0].lineno + 1)
        count += sum(re.match(r"\s*($|//|#|[])}]+,?$)", line) is None for line in lines)
    return count


def figures(files):
    found = [(path, *function) for path, lines in files.items() for function in functions(lines)]
    total = sum(map(len, files.values()))
    lengths = sorted(length for *_, length in found)
    texts = {path: code("\n".join(lines)) for path, lines in files.items()}
    statics = [(path, name) for path, name, static, _ in found if static]
    # the definition, and a declaration where there is one, are no uses
    once = sum(len(re.findall(rf"\b{name}\b", texts[path])) - len(re.findall(rf"^static .*\b{name}\(", texts[path], re.M)) <= 1
               for path, name in statics)
    rungs = sum(bool(re.match(r"\s*(\} else )?if \(status == OCV_OK\)( \{)?$", line)) for lines in files.values() for line in lines)
    print(f"product C                           {total} lines, {len(files)} files")
    print(f"functions per 1,000 lines           {1000 * len(found) / total:.1f} ({len(found)})")
    print(f"statics named once besides          {100 * once / len(statics):.0f} % ({once})")
    print(f"function: mean, p95, longest        {sum(lengths) / len(lengths):.1f}, {lengths[len(lengths) * 95 // 100]}, {lengths[-1]}")
    print(f"headers                             {sum(path.endswith('.h') for path in files)}")
    print(f"files under 60 lines                {sum(len(lines) < 60 for lines in files.values())}")
    print(f"if (status == OCV_OK) rungs         {rungs}")
    print(f"Go reader, lines with statements    {statements(':(glob)contrib/go/ocivariant/*.go')}")
    print(f"Python reader, the same             {statements('contrib/python/ocivariant/*.py')}")


def rooms(files):
    print("| directory | files | lines |\n|---|---|---|")
    for room in ROOMS:
        mine = [len(lines) for path, lines in files.items() if path.startswith(tuple(d + "/" for d in room.split()))]
        print(f"| {', '.join(f'`{d}`' for d in room.split())} | {len(mine)} | {sum(mine):,} |")


(rooms if sys.argv[1:] == ["--rooms"] else figures)(sources())
