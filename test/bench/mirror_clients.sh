# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# What real clients see of the mirror, for run.sh: programs that check what they get, and store it.
# In resolver mode containerd takes a tag's answer from the mirror and every blob from the registry.
#
# shellcheck disable=SC2154 # tools, raw, STATE, quick and the addresses are run.sh's and mirror.sh's

# publish_large: an image with variants and ~800 MB of layers; sets the variable large_blob
publish_large()
{
    local unit=128M big=256M
    [ -z "$quick" ] || unit=8M big=32M
    mkimage "$STATE/heavy" image --layer $unit --layer $unit --layer $unit --layer $unit --layer $big >>"$STATE/log/mkimage"
    "$VARIANTCTL" index create --quiet "oci:$STATE/heavy:index" "null=oci:$STATE/heavy:image" \
        "none=oci:$STATE/heavy:image,benchgpu :: none :: 1" >>"$STATE/log/mkimage"
    push_layout "$STATE/heavy:index" "$REGISTRY/bench/heavy:1"
    large_blob=$($skopeo --insecure-policy inspect --raw --tls-verify=false "docker://$REGISTRY/bench/heavy:1" |
        jq -r '.manifests[0].digest')
    large_blob=$(curl -sf -H "$MIRROR_ACCEPT" "http://$REGISTRY/v2/bench/heavy/manifests/$large_blob" |
        jq -r '.layers | max_by(.size) | .digest')
    large_size="4 x $unit + $big"
    rm -r "$STATE/heavy"
}

# ctr_hosts NAME [MIRROR]: containerd's configuration for the registry
ctr_hosts()
{
    mkdir -p "$STATE/$1/$REGISTRY"
    {
        printf 'server = "http://%s"\n' "$REGISTRY"
        [ -z "${2:-}" ] || printf '[host."http://%s"]\n  capabilities = ["pull", "resolve"]\n' "$2"
    } >"$STATE/$1/$REGISTRY/hosts.toml"
}

ctr_ready()
{
    [ "$(id -u)" = 0 ] && command -v containerd ctr >/dev/null && start_containerd 2>"$STATE/log/bench-containerd" ||
        return 1
    ctr_hosts hosts-direct
    ctr_hosts hosts-mirror "$asking_at/resolver"
}

fresh_client()
{
    fresh_target
    [ -z "${CONTAINERD_ADDRESS:-}" ] || ctr images rm --sync "$REGISTRY/bench/heavy:1" >>"$STATE/log/ctr" 2>&1 || true
}

# client_row NAME WHAT: medians, direct and through the mirror, and their ratio
client_row()
{
    [ -e "$raw/$1-direct" ] || return 0
    awk -v what="$2" -v direct="$(median "$1-direct" 1)" -v ours="$(median "$1-mirror" 1)" \
        -v cpu="$(median "$1-direct" 2)" 'BEGIN {
        printf "| %s | %.2f | %.2f | %.2f | %.2f |\n", what, direct / 1e3, ours / 1e3, direct / ours, cpu / 1e3 }'
}

real_clients()
{
    local rounds=${quick:+1} large_blob large_size absent=''
    local here="docker://$REGISTRY/bench/heavy:1"
    local -a ctr_pairs=()
    local copy="$skopeo --insecure-policy copy --quiet --preserve-digests --src-tls-verify=false"
    rounds=${rounds:-3}
    publish_large
    local there="docker://$asking_at/${REGISTRY/:/--}/bench/heavy:1"
    if ctr_ready; then
        ctr_pairs=(ctr-direct "ctr images pull --hosts-dir $STATE/hosts-direct $REGISTRY/bench/heavy:1"
            ctr-mirror "ctr images pull --hosts-dir $STATE/hosts-mirror $REGISTRY/bench/heavy:1")
    else
        absent='containerd (it needs root)'
    fi
    alternate "$rounds" fresh_client \
        sha-direct "sh -c 'curl -sf http://$REGISTRY/v2/bench/heavy/blobs/$large_blob | openssl sha256'" \
        sha-mirror "sh -c 'curl -sf http://$asking_at/v2/${REGISTRY/:/--}/bench/heavy/blobs/$large_blob | openssl sha256'" \
        skopeo-direct "$copy $here dir:$STATE/target" skopeo-mirror "$copy $there dir:$STATE/target" \
        "${ctr_pairs[@]}"
    echo "## What clients see that check and store what they get"
    echo
    echo "An image of $large_size of random layers, its largest layer for curl. Asked: 90 % of direct."
    [ -z "$absent" ] || echo "Not here, so not measured: $absent."
    echo
    echo "| client | direct s | through variantd s | to direct | client's own CPU s |"
    echo "|---|---|---|---|---|"
    client_row sha "curl, openssl sha256, one blob"
    client_row skopeo "skopeo $skopeo_version copy to a directory, proxy"
    client_row ctr "ctr images pull, resolver"
    echo
    if [ ${#ctr_pairs[@]} != 0 ]; then
        stop_daemon containerd
        unset CONTAINERD_ADDRESS
    fi
}
