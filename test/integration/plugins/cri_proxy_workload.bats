#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A build for each pod: the CRI image proxy with `workload`, in front of containerd's CRI plugin,
# with the calls that a kubelet sends for its pods.

load ../harness
load ../images
load ../variantd
load ../cri
load ../workload

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr runc jq
    make_programs "$STATE/layout"
    for user in 1000 2000 root; do
        mkimage "$STATE/layout" "as-$user" --binary "say=$OCV_BUILD/test/tools/saybuild" --cmd /say --user "$user" \
            --file "etc/build=as-$user" >/dev/null
    done
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:users" "null=oci:$STATE/layout:as-1000" \
        "a=oci:$STATE/layout:as-root,x86_64 :: level :: v3" >/dev/null 3>&-
    "$VARIANTCTL" index create --quiet "oci:$STATE/layout:same" "null=oci:$STATE/layout:as-1000" \
        "a=oci:$STATE/layout:as-1000,x86_64 :: level :: v3" >/dev/null 3>&-
    start_registry
    export PAUSE_IMAGE=$REGISTRY/pause:1 IMAGE=$REGISTRY/demo/app:1
    push_layout "$STATE/layout:pause" "$PAUSE_IMAGE"
    push_layout "$STATE/layout:app" "$IMAGE"
    push_layout "$STATE/layout:users" "$REGISTRY/demo/users:1"
    push_layout "$STATE/layout:cpu.v3" "$REGISTRY/demo/plain:1"
    start_variantd h100 --profile "$PROFILES/h100.json"
    start_cri
}

setup()
{
    set -o pipefail
    export PROXY_STATE=$BATS_TEST_TMPDIR/state MACHINE=h100
    start_proxy 'workload: annotations'
}

teardown()
{
    local image
    stop_daemon proxy
    for image in $(cri images | cut -d' ' -f1); do
        cri rmi "$image"
    done
}

@test "two pods, one tag, each the build that it names" {
    local one two
    run -0 status a "$IMAGE" label=cpu.v3
    [ "$output" = absent ]
    one=$(pull a "$IMAGE" label=cpu.v3)
    two=$(pull b "$IMAGE" label=cuda12.6)
    [ "$(says "$one")" = "this is cpu.v3" ]
    [ "$(says "$two")" = "this is cuda12.6" ]
    [ "$(status a "$IMAGE" label=cpu.v3)" = "$one" ]
    [ "$(status b "$IMAGE" label=cuda12.6)" = "$two" ]
    # another pod that says the same needs no pull, one that says nothing does
    [ "$(status c "$IMAGE" label=cpu.v3)" = "$one" ]
    [ "$(status d "$IMAGE")" = absent ]
    [ "$(says "$(pull d "$IMAGE")")" = "this is cuda12.8" ]
    [ "$(user_of "$IMAGE")" = root ]
    # the tag itself never came to the engine
    [ "$(cri status "$IMAGE")" = null ]
    [ "$(proxied status "${IMAGE%:*}@$(digest_of cpu.v3)" | jq -r .id)" = "$one" ]
}

@test "an index of indexes: the same builds" {
    local image=${IMAGE%:*}@ one
    image+=$(push_nested "${IMAGE%:*}" "$(index_digest)")
    one=$(pull a "$image" label=cpu.v3)
    [ "$(says "$one")" = "this is cpu.v3" ]
    [ "$(status a "$image" label=cpu.v3)" = "$one" ]
    [ "$(says "$(pull b "$image")")" = "this is cuda12.8" ]
}

@test "require and disable, and what the node's answer is with them" {
    [ "$(says "$(pull a "$IMAGE" disable=nvidia)")" = "this is cpu.v3" ]
    [ "$(says "$(pull b "$IMAGE" 'disable=nvidia :: cuda_version_lower_bound :: 12.8')")" = "this is cuda12.6" ]
    [ "$(says "$(pull c "$IMAGE" require=x86_64)")" = "this is cpu.v3" ]
    [ "$(says "$(pull d "$IMAGE" devices=cpu)")" = "this is cpu.v3" ]
    [ "$(says "$(pull e "$IMAGE" devices=node)")" = "this is cuda12.8" ]
    # in another order it is the same decision
    pull f "$IMAGE" 'disable=nvidia::cuda_version_lower_bound::12.8, amd' >/dev/null
    [ "$(status g "$IMAGE" 'disable=amd,  nvidia :: cuda_version_lower_bound :: 12.8,amd')" != absent ]
}

@test "a pod keeps its build: after another annotation, a moved tag and kill -9" {
    local one other
    one=$(pull a "$IMAGE" label=cpu.v3)
    other=$(pull b "$IMAGE" label=cuda12.6)
    [ "$(status a "$IMAGE" label=cuda12.6)" = "$one" ]
    [ "$(pull a "$IMAGE" label=cuda12.6)" = "$one" ]
    kill -KILL "$(cat "$STATE/pids/proxy")"
    wait "$(cat "$STATE/pids/proxy")" || true
    rm "$STATE/pids/proxy"
    start_proxy 'workload: annotations'
    [ "$(status a "$IMAGE" label=cuda12.6)" = "$one" ]
    [ "$(status c "$IMAGE" label=cuda12.6)" = "$other" ]
    [ "$(pull a "$IMAGE")" = "$one" ]
    [ "$(user_of "$IMAGE")" = root ]
}

@test "an annotation that cannot be met is refused with what there is" {
    run ! pull a "$IMAGE" label=cuda99
    [[ $output == *InvalidArgument* || $output == *INVALID_ARGUMENT* ]]
    [[ $output == *"annotation dev.ocivariant/label: \"cuda99\": there is no such variant; $IMAGE has: null, cpu.v3, cuda12.6, cuda12.8, rocm7.1"* ]]
    run ! status a "$IMAGE" label=cuda99
    [[ $output == *'annotation dev.ocivariant/label: "cuda99": there is no such variant'* ]]
    [ "$(status b "$IMAGE" label=cuda99)" = absent ] # who has not asked himself
    run ! pull a "$IMAGE" label=rocm7.1
    [[ $output == *'annotation dev.ocivariant/label: "rocm7.1": '*"$IMAGE has: null, "* ]]
    run ! pull a "$IMAGE" require=nvida
    [[ $output == *"annotation dev.ocivariant/require: no namespace 'nvida'; did you mean 'nvidia'?"* ]]
    run ! pull a "$IMAGE" require=amd
    [[ $output == *'annotation dev.ocivariant/require: "amd": no variant of that kind fits'* ]]
    run ! pull a "$IMAGE" devices=nvidia=77
    [[ $output == *"annotation dev.ocivariant/devices: no device '77'"* ]]
    for wish in 'label=A B' devices=gpu 'require=a :: b :: c :: d' "label=$(printf 'x%.0s' {1..70})"; do
        run ! pull a "$IMAGE" "$wish"
        [[ $output == *"annotation dev.ocivariant/${wish%%=*}: "* ]]
        run ! status a "$IMAGE" "$wish"
        [[ $output == *"annotation dev.ocivariant/${wish%%=*}: "* ]]
    done
    [ -z "$(cri images | grep demo || true)" ]
}

@test "an annotation of ours that does not exist: said once for each pod, and counted" {
    local log=$STATE/log/proxy
    for pod in typo-1 typo-1 typo-2; do
        pull "$pod" "$IMAGE" reqiure=nvidia label=cpu.v3 >/dev/null
    done
    pull right "$IMAGE" label=cpu.v3 >/dev/null
    [ "$(grep -c 'there is no annotation' "$log")" = 2 ]
    for pod in typo-1 typo-2; do
        grep -F "pod default/$pod: there is no annotation dev.ocivariant/reqiure, it is ignored; did you mean 'require'?" "$log"
    done
    grep -qx 'ocivariant_cri_proxy_unknown_annotations_total 2' "$BATS_TEST_TMPDIR/metrics"
    # where the pull is refused, too
    run ! pull refused "$IMAGE" label=cuda99 devces=cpu
    grep -F "pod default/refused: there is no annotation dev.ocivariant/devces, it is ignored; did you mean 'devices'?" "$log"
}

# hung_asked N: so many pulls of the registry that hangs are being decided, or have been
hung_asked()
{
    curl --silent "http://$BAD/log" >>"$BATS_TEST_TMPDIR/asked" # tells each request once
    [ "$(grep -c ' /v2/mute/' "$BATS_TEST_TMPDIR/asked")" -ge "$1" ]
}

# Each of them would be given up after 10 seconds, and their registry not asked again: both is said in the
# log. What happens before that has not waited for them.
@test "100 pulls that hang: others' pinned ones and pods' go on; who cancels gives a place back" {
    local pulls=() i app pinned none log=$STATE/log/proxy
    none=$(printf 'a%.0s' {1..64})
    start_badregistry
    push_layout "$STATE/layout:app" "$REGISTRY/other/app:1"
    for i in {1..100}; do
        "$OCV_BUILD/test/tools/cri" "$STATE/proxy.sock" pull "$BAD/mute/app$i@sha256:$none" >/dev/null 2>&1 3>&- &
        pulls[i]=$! # the client itself, not a shell
    done
    await proxy hung_asked 4
    pinned=$(proxied pull "$REGISTRY/other/app@$(index_digest)")
    [ "$(says "$pinned")" = "this is cuda12.8" ]
    [ "$(says "$(pull a "$IMAGE" label=cpu.v3)")" = "this is cpu.v3" ]
    hung_asked 4 # and no more of them than that
    [ "$(grep -c ' /v2/mute/' "$BATS_TEST_TMPDIR/asked")" = 4 ]
    run ! grep -F "$BAD" "$log"
    for i in {1..100}; do
        kill -0 "${pulls[i]}"
    done
    # those that were being decided are cancelled: the next ones are asked about
    while read -r app; do
        kill -KILL "${pulls[app]}"
    done < <(sed -n 's,.* /v2/mute/app\([0-9]*\)/.*,\1,p' "$BATS_TEST_TMPDIR/asked")
    await proxy hung_asked 8
    run ! grep -F "was silent" "$log"
    kill -KILL "${pulls[@]}" 2>/dev/null || true
    stop_daemon bad
}

@test "annotations of 256 KiB, twice in a message: read, or refused; nobody else's build" {
    local large=$BATS_TEST_TMPDIR/large size
    for size in 262144 1900000; do
        head -c "$size" /dev/zero | tr '\0' x >"$large"
        annotations "big-$size" label=cpu.v3 | jq --rawfile large "$large" --arg image "$IMAGE" --arg pod "big-$size" '. + {$large} |
            {image: {$image, annotations: .}, sandbox_config: {annotations: ., metadata: {name: $pod, uid: "uid-\($pod)", namespace: "default"}}}' >"$BATS_TEST_TMPDIR/pull"
        [ "$(says "$(proxied PullImage - <"$BATS_TEST_TMPDIR/pull" | jq -r .image_ref)")" = "this is cpu.v3" ]
    done
    # a wish that is large by itself is refused in words
    annotations huge label=cpu.v3 | jq --rawfile large "$large" --arg image "$IMAGE" '. + {"dev.ocivariant/require": $large[:262144]} |
        {image: {$image, annotations: .}, sandbox_config: {annotations: ., metadata: {name: "huge", uid: "uid-huge", namespace: "default"}}}' >"$BATS_TEST_TMPDIR/pull"
    run ! proxied PullImage - <"$BATS_TEST_TMPDIR/pull"
    [[ $output == *"annotation dev.ocivariant/require: "* ]]
}

@test "a private image: with the pod's own credentials, and another pod does not start from what they left" {
    local private
    start_registry private htpasswd
    private=$REGISTRY/demo/app:1
    skopeo copy --quiet --all --preserve-digests --dest-tls-verify=false --dest-creds user:secret "oci:$STATE/layout:app" "docker://$private" 3>&-
    stop_daemon proxy
    start_proxy 'workload: annotations'
    # with POD SECRET [KEY=VALUE...]: kubelet's PullImage with an imagePullSecret
    with()
    {
        annotations "$1" "${@:3}" | jq --arg image "$private" --arg pod "$1" --arg secret "$2" \
            '{image: {$image, annotations: .}, sandbox_config: {annotations: ., metadata: {name: $pod, uid: "uid-\($pod)", namespace: "default"}}}
             + if $secret == "" then {} else {auth: {username: "user", password: $secret}} end' | proxied PullImage - | jq -r .image_ref
    }
    run ! with one '' label=cpu.v3
    run ! with one wrong label=cpu.v3
    [ "$(says "$(with one secret label=cpu.v3)")" = "this is cpu.v3" ]
    run ! with two '' label=cpu.v3
    [[ $output == *401* || $output == *denied* || $output == *nauthorized* ]]
    run ! with two wrong label=cpu.v3
    [ "$(says "$(with two secret label=cpu.v3)")" = "this is cpu.v3" ]
    # nor the pod that has it, when its own credentials have gone: the engine asks
    run ! with one wrong label=cpu.v3
    stop_daemon private
}

@test "only the annotations that the administrator honours count" {
    stop_daemon proxy
    start_proxy 'workload: annotations' 'workload_annotations: [require]'
    [ "$(says "$(pull a "$IMAGE" label=cuda99)")" = "this is cuda12.8" ]
    [ "$(says "$(pull b "$IMAGE" label=cuda99 require=x86_64)")" = "this is cpu.v3" ]
    stop_daemon proxy
    start_proxy 'workload: annotations, label: cpu.v3, disable: [nvidia]'
    run ! pull c "$IMAGE" label=cuda12.6
    [[ $output == *"the node's configuration allows cpu.v3 alone"* ]]
}

@test "variants that run as different users are refused, in words, and no other user is ever told" {
    run ! pull a "$REGISTRY/demo/users:1"
    [[ $output == *"variants of $REGISTRY/demo/users:1 run as different users (1000, root)"* ]]
    run ! status a "$REGISTRY/demo/users:1"
    [[ $output == *"run as different users (1000, root)"* ]]
    run ! user_of "$REGISTRY/demo/users:1"
    [[ $output == *"no build of it that was chosen here is on this node"* ]]

    push_layout "$STATE/layout:same" "$REGISTRY/demo/moves:1"
    pull a "$REGISTRY/demo/moves:1" label=a
    [ "$(user_of "$REGISTRY/demo/moves:1")" = 1000 ]
    # the tag moves to another user: not while a pod of the old one lives
    push_layout "$STATE/layout:as-2000" "$REGISTRY/demo/moves:1"
    run ! pull b "$REGISTRY/demo/moves:1"
    [[ $output == *"variants of $REGISTRY/demo/moves:1 run as different users (1000, 2000)"* ]]
    [ "$(user_of "$REGISTRY/demo/moves:1")" = 1000 ]
}

@test "without annotations an image is never absent: a child that is there, or an error" {
    run ! user_of "$IMAGE"
    [[ $output == *"no build of it that was chosen here is on this node"* ]]
    pull a "$IMAGE" label=cpu.v3
    pull b "$IMAGE" label=cuda12.6
    [ "$(user_of "$IMAGE")" = root ]
    cri rmi "${IMAGE%:*}@$(digest_of cuda12.6)"
    [ "$(user_of "$IMAGE")" = root ]
    cri rmi "${IMAGE%:*}@$(digest_of cpu.v3)"
    run ! user_of "$IMAGE"
    # what garbage collection took is absent for its pod, and comes back as it was
    [ "$(status a "$IMAGE" label=cpu.v3)" = absent ]
    [ "$(says "$(pull a "$IMAGE" label=cpu.v3)")" = "this is cpu.v3" ]
    # ids are ids
    [ "$(proxied status "$(status a "$IMAGE" label=cpu.v3)" | jq -r .id)" = "$(status a "$IMAGE" label=cpu.v3)" ]
}

@test "an ordinary image is itself, and has no variants to name" {
    local id
    id=$(pull a "$REGISTRY/demo/plain:1")
    [ "$(says "$id")" = "this is cpu.v3" ]
    [ "$(status a "$REGISTRY/demo/plain:1")" = "$id" ]
    run ! pull b "$REGISTRY/demo/plain:1" label=cpu
    [[ $output == *'annotation dev.ocivariant/label: "cpu": there is no such variant; '*"has: null"* ]]
}

@test "workload off, or another repository: every request goes on as it came" {
    stop_daemon proxy
    start_proxy 'workload: off'
    run -0 pull a "$IMAGE" label=cpu.v3
    [ "$(cri_digest "$IMAGE")" = "$(index_digest)" ]
    [ "$(says "$IMAGE")" = "this is null" ]
    [ "$(sqlite3 "$PROXY_STATE/state.db" "SELECT count(*) FROM choices")" = 0 ]
    [ "$(status b "$IMAGE" label=cuda99)" = "$output" ]
    [ "$(status b "$REGISTRY/demo/none:1")" = absent ]
    stop_daemon proxy
    start_proxy 'workload: annotations, choose: off'
    [ "$(pull a "$IMAGE" label=cpu.v3)" = "$output" ]
}

@test "the registry is away: pods go on with what they have, and nothing else starts" {
    local one
    one=$(pull a "$IMAGE" label=cpu.v3)
    stop_daemon registry
    [ "$(status a "$IMAGE" label=cpu.v3)" = "$one" ]
    [ "$(user_of "$IMAGE")" = root ]
    [ "$(status b "$IMAGE" label=cuda12.6)" = absent ]
    run ! pull b "$IMAGE" label=cuda12.6
    [ "$(cri status "$IMAGE")" = null ]
}
