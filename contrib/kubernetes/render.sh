#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The plain manifests in this directory, of the chart with its default values, for docker.io:
#
#   contrib/kubernetes/render.sh [DIR]            into DIR, or here
#   contrib/kubernetes/render.sh --schema [DIR]   only values.schema.json, into DIR, or the chart
#
# Needs helm ($HELM), and jq for the schema. Each file names the checksum of the chart that it was made of, which a
# test compares where helm is not to be had, too. contrib/kubernetes/render.sh --checksum prints it.
#
# chart/values.schema.json is written by hand but for what `config` and `registries` may have, which are the keys of
# schema/config.schema.json: Helm reads no file outside of a chart.
set -euo pipefail

cd "$(dirname "$0")"
export LC_ALL=C
HELM=${HELM:-helm}

# files that change nothing of what is rendered are left out
checksum()
{
    find chart -path chart/files -prune -o -type f ! -name values.schema.json -print | sort | while read -r file; do
        echo "$file"
        cat "$file"
    done | sha256sum | cut -d' ' -f1
}

# Left out of `config`: what other values set (registries, choose, credentials, metrics_listen), what the pod's
# mounts and probes rely on (socket, state_dir), and what no daemon reads (to). `listen` keeps to ports that ordinary
# users cannot take; the probes follow it. YAML would make 12.1 of 12.10: values of `override` are strings.
schema()
{
    jq --indent 2 --slurpfile of ../../schema/config.schema.json '
        def bare: walk(if type == "object" then
            with_entries(select((.key != "description" or (.value | type) != "string") and
                (.key != "default" or (.value | type == "object" and has("type"))))) else . end);
        ($of[0].properties | bare) as $keys
        | .properties.registries.additionalProperties = ($keys.registries.additionalProperties |
            .type = ["object", "null", "string"] | .maxLength = 0)
        | .properties.config = {type: "object", additionalProperties: false, properties: ($keys |
            del(.registries, .choose, .credentials, .metrics_listen, .socket, .state_dir, .to) |
            .listen.pattern = "^127\\.0\\.0\\.1:([1-9][0-9]{0,2}|10[01][0-9]|102[0-3])$" |
            .override.additionalProperties.additionalProperties.items = {type: "string"})}
    ' chart/values.schema.json
}

write_schema() # DIR
{
    local made
    made=$(schema)
    printf '%s\n' "$made" >"$1/values.schema.json"
}

case ${1:-} in
    --checksum) checksum && exit ;;
    --schema) write_schema "${2:-chart}" && exit ;;
esac
out=${1:-.}
[ "$out" != . ] || write_schema chart

render() # FILE ABOUT OPTION...
{
    local file=$1 about=$2
    shift 2
    {
        echo "# SPDX-License-Identifier: GPL-3.0-or-later"
        echo "# $about"
        echo "# docs/kubernetes.md says how. Made by contrib/kubernetes/render.sh of the chart:"
        echo "# $(checksum)"
        [ "$file" != variantd.yaml ] || printf '%s\n' --- 'apiVersion: v1' 'kind: Namespace' 'metadata:' '  name: ocivariant' \
            '  labels: {pod-security.kubernetes.io/enforce: privileged} # hostNetwork and hostPath'
        "$HELM" template variantd chart --namespace ocivariant --kube-version 1.36.0 --set-json 'registries={"docker.io": {}}' "$@" 2>/dev/null |
            grep -vE '^# Source: ' | cat -s
    } >"$out/$file"
}

render variantd.yaml "variantd on every node: set image and ConfigMap." --show-only templates/configmap.yaml \
    --show-only templates/rbac.yaml --show-only templates/daemonset.yaml
render announce.yaml "What variantd --announce kubernetes needs: docs/claims.md has what to add to variantd.yaml." \
    --set announce=true --show-only templates/announce.yaml
render monitoring.yaml "What the Prometheus operator scrapes; rules and dashboard: chart/files." \
    --set monitoring.podMonitor=true --show-only templates/monitoring.yaml
render remove.yaml "Undo on every node what the set-up wrote." --set remove=true --show-only templates/remove.yaml
