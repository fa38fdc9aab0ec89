#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# contrib/keys-docs.sh: docs/configuration.md on standard output, with the tables of keys that
# schema/config.schema.json gives.
set -eu

cd "$(dirname "$0")/.."
sed '/^<!-- keys: /q' docs/configuration.md
echo
jq -r -f schema/config-docs.jq schema/config.schema.json
echo
sed -n '/^<!-- end of keys -->$/,$p' docs/configuration.md
