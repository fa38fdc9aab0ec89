#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The plain manifests in this directory, of the chart with its default values, for docker.io:
#
#   contrib/kubernetes/render.sh [DIR]     into DIR, or here
#
# Needs helm ($HELM). Each file names the checksum of the chart that it was made of, which a test compares
# where helm is not to be had, too. contrib/kubernetes/render.sh --checksum prints it.
set -euo pipefail

cd "$(dirname "$0")"
export LC_ALL=C
HELM=${HELM:-helm}

checksum()
{
    find chart -path chart/files -prune -o -type f -print | sort | while read -r file; do
        echo "$file"
        cat "$file"
    done | sha256sum | cut -d' ' -f1
}

if [ "${1:-}" = --checksum ]; then
    checksum
    exit
fi
out=${1:-.}

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
