# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# JSON and YAML files against JSON Schemas. Load after harness:
#
#   require_validator        skips the test without python3-jsonschema and python3-yaml; OCV_STRICT=1
#                            or CI=true: fails
#   valid SCHEMA FILE...     each file is valid by the schema, of whichever draft that says it is;
#                            a SCHEMA without a slash is schema/SCHEMA.schema.json

# The first python3 that has both: one from elsewhere may stand before the distribution's in PATH.
validator()
{
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import jsonschema, yaml' 2>/dev/null || continue
        echo "$python"
        return 0
    done
    return 1
}

require_validator()
{
    validator >/dev/null && return 0
    if strict; then
        echo "python3-jsonschema and python3-yaml are not installed, and nothing may be skipped here" >&2
        return 1
    fi
    skip "python3-jsonschema and python3-yaml are not installed"
}

valid()
{
    local schema=$1
    [[ $schema == */* ]] || schema=$OCV_TOP/schema/$schema.schema.json
    shift
    "$(validator)" - "$schema" "$@" <<'PYTHON'
import json, sys, yaml
from jsonschema import FormatChecker
from jsonschema.validators import validator_for

with open(sys.argv[1]) as file:
    schema = json.load(file)
kind = validator_for(schema)
kind.check_schema(schema)
for path in sys.argv[2:]:
    with open(path) as file:
        document = yaml.safe_load(file) if path.endswith(".yaml") else json.load(file)
    for error in kind(schema, format_checker=FormatChecker()).iter_errors(document):
        sys.exit(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message[:500]}")
PYTHON
}
