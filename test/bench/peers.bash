# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Which peers are measured, for run.sh: those of OCV_PEERS (peers.sh), else those of this machine. A current skopeo
# loads the libraries beside it, by their own loader: its command is several words.
# shellcheck disable=SC2034,SC2154 # crane, oras, ... are run.sh's; peers and absent are its callers'

first_line_version() # COMMAND...: the first number with dots that it says of itself
{
    "$@" 2>/dev/null | grep -oE '[0-9]+[.][0-9]+([.][0-9]+)?' | head -n 1 || true
}

find_peers()
{
    local loader libraries
    skopeo=$(command -v skopeo || true) crane=$(command -v crane || true) regctl=$(command -v regctl || true)
    oras=$(command -v oras || true) old_skopeo='' registry_name=docker-registry
    if [ -n "${OCV_PEERS:-}" ]; then
        loader=$(find "$OCV_PEERS/debian/usr" -name 'ld-linux-*.so.*' | head -n 1)
        libraries=$(dirname "$(find "$OCV_PEERS/debian/usr/lib" -name libc.so.6 | head -n 1)")
        old_skopeo=$skopeo
        skopeo="$loader --library-path $libraries $OCV_PEERS/debian/usr/bin/skopeo"
        oras="$loader --library-path $libraries $OCV_PEERS/debian/usr/bin/oras"
        crane=$OCV_PEERS/bin/crane regctl=$OCV_PEERS/bin/regctl
        export REGISTRY_PROGRAM=$OCV_PEERS/bin/registry
        registry_name="distribution $(first_line_version "$REGISTRY_PROGRAM" --version)"
    else
        registry_name="docker-registry $(docker-registry --version | grep -oE ' v?[0-9]+[.][0-9.]+' | tr -d ' ' | head -n 1)"
    fi
    # shellcheck disable=SC2086 # words
    {
        skopeo_version=$(first_line_version ${skopeo:-skopeo} --version)
        oras_version=$(first_line_version ${oras:-oras} version)
    }
    old_skopeo_version=$(first_line_version "${old_skopeo:-old-skopeo}" --version)
    crane_version=$(first_line_version "${crane:-crane}" version)
    regctl_version=$(first_line_version "${regctl:-regctl}" version)
}

peer_versions()
{
    local name version
    local -a out=("$registry_name")
    for name in skopeo crane regctl oras; do
        version=${name}_version
        [ -z "${!version}" ] || out+=("$name ${!version}")
    done
    [ -z "$old_skopeo_version" ] || out+=("and Debian 12's skopeo $old_skopeo_version")
    out+=("$(nginx -v 2>&1 | sed 's/^.*: //; s,/, ,')" "$(curl --version | sed -n '1s/^\(curl [0-9.]*\).*/\1/p')" "jq $(first_line_version jq --version)")
    ! command -v lspci >/dev/null || out+=("lspci $(first_line_version lspci --version)")
    ! command -v lstopo-no-graphics >/dev/null || out+=("lstopo $(first_line_version lstopo-no-graphics --version)")
    ! command -v containerd >/dev/null || out+=("containerd $(first_line_version containerd --version)")
    printf '%s, ' "${out[@]}" | sed 's/, $//'
}

# Missing peers are named, so that a short table is not taken for a complete one.
peer() # NAME PROGRAM COMMAND
{
    if [ -n "$2" ] && command -v "$2" >/dev/null; then
        peers+=("$1" "$3")
    elif [ "$1" != "${1/--/-}" ]; then
        absent+="${absent:+, }${1%%-*}" # without a version: not here
    else
        absent+="${absent:+, }$1"
    fi
}

say_absent()
{
    [ -z "$absent" ] || echo "Not here, so not measured: $absent."
}

peer_rows() # OURS...: rows of these and of all peers
{
    local i
    local -a names=("$@")
    for ((i = 0; i < ${#peers[@]}; i += 2)); do
        names+=("${peers[i]}")
    done
    rows "${names[@]}"
}
