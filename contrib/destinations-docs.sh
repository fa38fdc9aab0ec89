#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# contrib/destinations-docs.sh VPULL: writes the destinations of vpull's table (--help lists them) into
# schema/config.schema.json, and above the key `to` in docs/configuration.md.
set -eu

list=$("$1" --help | sed -n 's/^--to: //p')
[ -n "$list" ] || { echo "$1 --help lists no destinations" >&2; exit 1; }
cd "$(dirname "$0")/.."
sed "s#\(\"description\": \"where images go: \)[^\"]*#\1$list#" schema/config.schema.json >schema/config.schema.json.tmp
mv schema/config.schema.json.tmp schema/config.schema.json
awk -v list="$list" '/^to: / { held = "# " list } NR > 1 { print held } { held = $0 } END { print held }' \
    docs/configuration.md >docs/configuration.md.tmp
mv docs/configuration.md.tmp docs/configuration.md
