# SPDX-License-Identifier: LGPL-3.0-or-later
# jq -r -f schema/config-docs.jq schema/config.schema.json: the tables of keys in docs/configuration.md.
def words: [.[] | select(type == "string")] | map("`" + . + "`") | join(", ");
def types: [.type] | flatten | map(select(. != "null"));
def values:
    if .enum then (.enum | words)
    elif types == ["array"] then "list"
    elif types == ["object"] then "map"
    elif types == ["boolean"] then "`true`, `false`"
    else "text" end;
def default:
    if .default == null then ""
    elif .default == [] or .default == {} then "empty"
    else "`" + (.default | tostring) + "`" end;
def rows:
    "| key | takes | default | meaning |", "|---|---|---|---|",
    (to_entries[] | "| `\(.key)` | \(.value | values) | \(.value | default) | \(.value.description) |");
(.properties | rows),
"", "Of a registry under `registries`:", "",
(.properties.registries.additionalProperties.properties | rows),
"", "Of a glob under `repositories`:", "",
(.properties.repositories.additionalProperties.properties | rows)
