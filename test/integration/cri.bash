# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# containerd with its CRI plugin, pulled from as a kubelet does (`load cri` after harness).
#
#   start_cri          configuration $STATE/cri.toml, with a copy in cri.toml.orig
#   restart_cri        after a change of that file
#   cri_pull IMAGE     PullImage by gRPC; fails where that does
#   cri_images [NAME]  what its store has (ctr images ls)

start_cri()
{
    cat >"$STATE/cri.toml" <<TOML
version = 2
root = "$STATE/cri"
state = "$STATE/cri-run"
[grpc]
  address = "$STATE/cri.sock"
[debug]
  address = "$STATE/cri-debug.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$STATE/cri-opt"
[plugins."io.containerd.grpc.v1.cri"] # the kubelet's
  restrict_oom_score_adj = true
TOML
    cp "$STATE/cri.toml" "$STATE/cri.toml.orig"
    restart_cri
}

restart_cri()
{
    stop_daemon cri
    start_daemon cri containerd --config "$STATE/cri.toml"
    await cri ctr --address "$STATE/cri.sock" version
}

# PullImageRequest{image: {image: REF}} as one gRPC message; the answer names the image.
cri_pull()
{
    local ref=$1 n=${#1} status
    {
        printf '\0\0\0\0'
        # shellcheck disable=SC2059 # bytes
        printf "$(printf '\\%03o\\012\\%03o\\012\\%03o' $((n + 4)) $((n + 2)) "$n")"
        printf '%s' "$ref"
    } >"$STATE/pull.grpc"
    curl -s --http2-prior-knowledge --unix-socket "$STATE/cri.sock" -H 'Content-Type: application/grpc' \
        -H 'TE: trailers' --data-binary "@$STATE/pull.grpc" -D "$STATE/pull.headers" -o "$STATE/pull.answer" \
        http://localhost/runtime.v1.ImageService/PullImage
    cat "$STATE/pull.headers"
    status=$(tr -d '\r' <"$STATE/pull.headers" | sed -n 's/^grpc-status: //p')
    [ "$status" = 0 ]
}

cri_images()
{
    ctr -a "$STATE/cri.sock" -n k8s.io images ls ${1:+"name==$1"}
}
