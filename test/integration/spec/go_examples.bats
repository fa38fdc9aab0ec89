#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The examples of the Go module build, and pull what variantctl chooses. Their modules are not downloaded here: without
# them (go mod download in contrib/go/examples/NAME) these tests are skipped.

load ../harness
load ../images
load ../cri

setup_file()
{
    state_start
    require docker-registry skopeo jq
    start_registry
    make_programs "$STATE/layout"
    push_layout "$STATE/layout:app" "$REGISTRY/demo/app:1"
    export IMAGE=$REGISTRY/demo/app:1 MACHINE=$PROFILES/h100.json CHOSEN
    CHOSEN=$(variantctl resolve --format json --insecure "$REGISTRY" --profile "$MACHINE" "$IMAGE" | jq -r .selected.digest)
}

# example NAME: built as $STATE/NAME
example()
{
    local wanted version
    version=$(go env GOVERSION 2>/dev/null) || skip "no Go"
    wanted=$(sed -n 's/^go 1\.\([0-9]*\).*/\1/p' "$OCV_TOP/contrib/go/examples/$1/go.mod")
    version=${version#go1.}
    [ "${version%%.*}" -ge "$wanted" ] || skip "Go 1.$wanted or newer is wanted, and go1.$version is here"
    export GOCACHE=$STATE/go GOFLAGS=-mod=readonly GOPROXY=off GOTOOLCHAIN=local GOMODCACHE
    GOMODCACHE=$(getent passwd "$(id -u)" | cut -d: -f6)/go/pkg/mod
    cd "$OCV_TOP/contrib/go/examples/$1" || return 1
    go list -deps . >/dev/null 2>&1 || skip "the modules of $1 are not here"
    [ -z "$(gofmt -l .)" ]
    run -0 go build -o "$STATE/$1" .
}

@test "go-containerregistry and oras-go: the chosen entry, in a layout" {
    local name plain
    for name in go-containerregistry oras-go; do
        example "$name"
        [ "$name" = oras-go ] && plain=-plain-http || plain=
        # shellcheck disable=SC2086 # none, or one word
        run -0 "$STATE/$name" $plain -profile "$MACHINE" "$IMAGE" "$BATS_TEST_TMPDIR/$name"
        [ "$output" = "$CHOSEN" ]
        [ "$(jq -r '.manifests[].digest' "$BATS_TEST_TMPDIR/$name/index.json")" = "$CHOSEN" ]
    done
}

@test "containerd/platforms: an order of platforms that begins with the chosen one's" {
    example containerd-platforms
    skopeo inspect --raw --tls-verify=false "docker://$IMAGE" >"$BATS_TEST_TMPDIR/index.json"
    run -0 "$STATE/containerd-platforms" "$BATS_TEST_TMPDIR/index.json" "$MACHINE"
    [ "${lines[0]}" = "$(jq -r --arg d "$CHOSEN" '.manifests[] | select(.digest == $d).platform | "\(.os)/\(.architecture)/\(.variant)"' "$BATS_TEST_TMPDIR/index.json")" ]
}

@test "nerdctl-like: the chosen entry is in containerd under the name that was asked for" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    require ctr runc
    example nerdctl
    export PAUSE_IMAGE=$REGISTRY/pause:1
    push_layout "$STATE/layout:pause" "$PAUSE_IMAGE"
    start_cri
    run -0 "$STATE/nerdctl" -address "$STATE/cri.sock" -namespace k8s.io -profile "$MACHINE" "$IMAGE"
    [ "$output" = "$CHOSEN" ]
    run -0 ctr --address "$STATE/cri.sock" --namespace k8s.io images ls "name==$IMAGE"
    [[ ${lines[1]} == "$IMAGE "*" $CHOSEN "* ]]
    run -0 "$STATE/nerdctl" -address "$STATE/cri.sock" -namespace k8s.io -profile "$MACHINE" "$IMAGE" # once more
}
