#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# contrib/keys-docs.sh: prints docs/configuration.md with the tables of keys from
# schema/config.schema.json.
set -eu

cd "$(dirname "$0")/.."
sed '/^<!-- keys: /q' docs/configuration.md
echo
jq -r -f schema/config-docs.jq schema/config.schema.json
echo
sed -n '/^<!-- end of keys -->$/,$p' docs/configuration.md
