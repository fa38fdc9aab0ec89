#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# An engine that pulled while the daemon was away has the default, which runs, and keeps it: it is
# seen, counted, told with what to do about it, and refused where the configuration requires more.

load ../harness
load ../images
load ../variantd
load ../cri

setup_file()
{
    state_start
    require docker-registry skopeo jq curl
    start_registry
    make_variants "$STATE/images"
    push_layout "$STATE/images:app" "$REGISTRY/app:1"
    mkimage "$STATE/images" plain --file etc/build=plain
    skopeo copy --quiet --dest-tls-verify=false "oci:$STATE/images:plain" "docker://$REGISTRY/plain:1" 3>&-
    mkimage "$STATE/images" labelled --file etc/build=labelled --label dev.ocivariant.label=cuda99 \
        --label 'dev.ocivariant.properties=nvidia :: sm_arch :: 90_real'
    skopeo copy --quiet --dest-tls-verify=false "oci:$STATE/images:labelled" "docker://$REGISTRY/labelled:1" 3>&-
    export CUDA ROCM DEFAULT V3 PLAIN OCV_STATE_DIR=$STATE/nothing
    CUDA=$(digest_of cuda12.8)
    ROCM=$(digest_of rocm7.1)
    V3=$(digest_of cpu.v3)
    DEFAULT=$(digest_of null)
    PLAIN=$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/plain:1" | sha256sum)
    PLAIN=sha256:${PLAIN%% *}
    write_config
}

daemon_up()
{
    start_variantd --config "${1:-$STATE/config.yaml}" --profile "$PROFILES/h100.json"
}

# what the timer runs, as root, as often as the daemon probes
timer()
{
    local command
    command=$(sed -n 's|^ExecStart=@PREFIX@/bin/variantctl ||p' "$OCV_TOP/contrib/systemd/ocivariant-verify.service.in")
    # shellcheck disable=SC2086 # words
    OCV_SOCKET=$VARIANTD_SOCKET "$VARIANTCTL" $command --config "$STATE/config.yaml" "$@" 3>&-
}

@test "the timer comes as often as the daemon probes by itself" {
    grep -qx 'OnUnitActiveSec=10min' "$OCV_TOP/contrib/systemd/ocivariant-verify.timer"
    grep -q 'DEFAULT_PROBE_INTERVAL "10m"' "$OCV_TOP/cmd/variantd/common/settings.c"
}

@test "podman pulled while the daemon was away: found within one interval, and put right" {
    require podman
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    daemon_up
    stop_daemon variantd
    podman pull --quiet --tls-verify=false "$REGISTRY/app:1" 3>&-
    podman pull --quiet --tls-verify=false "$REGISTRY/plain:1" 3>&-
    daemon_up
    # nobody has told of an image
    run ! grep -q '^variantd_lesser_images ' <(curl --silent --unix-socket "$VARIANTD_SOCKET" http://localhost/metrics)
    run -0 timer --from podman
    [[ $output == *"lesser"*"podman: $REGISTRY/app:1: cuda12.8 fits it better; vpull --to podman $REGISTRY/app:1"* ]]
    [[ $output == *" 1 have no variants, 1 could be better"* ]]
    # nobody has to be asked, and nobody is there: that is what is said
    OCV_SOCKET=$STATE/nobody.sock run -0 "$VARIANTCTL" verify --all --from podman --profile "$PROFILES/h100.json" 3>&-
    [[ $output == *"none     podman: $REGISTRY/plain:1: no record here says whether it is a variant"* ]]
    [[ $output == *" 2 have no record here" && $output != *"could be better"* ]]
    run -0 timer --all --from podman
    [[ $output == *"none     podman: $REGISTRY/plain:1: an image without variants"* ]]
    [ "$(metric variantd_lesser_images)" = 1 ]
    [ "$(grep -c "$REGISTRY/app:1 is not the best for this node: cuda12.8 fits it better" "$STATE/log/variantd")" = 1 ]
    # again: known, and said once; what has no variants is not asked about again
    gets=$(upstream_count "plain/manifests")
    run -5 timer --from podman --strict --format json
    [ "$(jq -r '.images[] | select(.verdict == "lesser") | "\(.by) \(.remedy)"' <<<"$output")" = "daemon vpull --to podman $REGISTRY/app:1" ]
    [ "$(jq .ok <<<"$output")" = false ]
    [ "$(upstream_count "plain/manifests")" = "$gets" ]
    [ "$(metric variantd_lesser_images)" = 1 ]
    [ "$(grep -c "is not the best for this node" "$STATE/log/variantd")" = 1 ]
    # where the default is what is meant to be had, nothing could be better
    echo 'choose: shadow' >>"$STATE/config.yaml"
    kill -HUP "$(<"$STATE/pids/variantd")"
    reread variantd 1
    run -0 timer --from podman --strict --format json
    sed -i '/^choose/d' "$STATE/config.yaml"
    [ "$(jq '[.images[] | select(.verdict == "lesser")] | length' <<<"$output")" = 0 ]
    [ "$(metric variantd_lesser_images)" = 0 ]
    kill -HUP "$(<"$STATE/pids/variantd")"
    reread variantd 2
    run -5 timer --from podman --strict --format json
    # the remedy
    remedy=$(jq -r '.images[] | select(.verdict == "lesser") | .remedy' <<<"$output")
    [[ $remedy == "vpull --to podman "* ]]
    # shellcheck disable=SC2086 # words
    "$VPULL" --config "$STATE/config.yaml" --profile "$PROFILES/h100.json" --quiet ${remedy#vpull } 3>&-
    run -0 timer --from podman --strict
    [[ $output != *"could be better"* ]]
    [ "$(metric variantd_lesser_images)" = 0 ]
    stop_daemon variantd
}

@test "verify --repair pulls the better one, once" {
    require podman
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    write_config 'override: {nvidia: {cuda_version_lower_bound: ["12.8"], sm_arch: ["90_real"]}}'
    start_variantd --config "$STATE/config.yaml" # this machine, as if it were another
    podman pull --quiet --tls-verify=false "$REGISTRY/app:1" 3>&-
    run -0 timer --from podman
    [[ $output == *"lesser"*"app:1: cuda12.8 fits it better"* ]]
    run -0 --separate-stderr timer --from podman --repair
    [[ $stderr == *"vpull --to podman $REGISTRY/app:1"* ]]
    [[ $output != *"app:1: cuda12.8 fits it better"* ]]
    [ "$(podman image inspect --format '{{.Labels.build}}' "$REGISTRY/app:1" 3>&-)" = cuda ]
    # a second time there is nothing to do for it
    run -0 --separate-stderr timer --from podman --repair
    [[ $stderr != *"vpull --to podman"* ]]
    stop_daemon variantd
    write_config
}

@test "containerd has the index itself, and unpacks its default" {
    require containerd ctr
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_containerd
    ctr -n k8s.io images pull --plain-http "$REGISTRY/app:1" >/dev/null 3>&-
    daemon_up
    run -0 timer --from containerd
    [[ $output == *"lesser"*"containerd:k8s.io: $REGISTRY/app:1: cuda12.8 fits it better; vpull --to containerd -n k8s.io $REGISTRY/app:1"* ]]
    [ "$(metric variantd_lesser_images)" = 1 ]
    stop_daemon variantd
}

# a kubelet's runtime, of which only the socket is there
repaired_by_runtime() # COMMAND: containerd's
{
    hosts_toml "$STATE/certs.d" "$REGISTRY" "http://$REGISTRY"
    "$1" "$STATE/certs.d"
    socket=$STATE/cri.sock
    cri_pull "$REGISTRY/app:1"
    cri_pull "$REGISTRY/plain:1"
    write_config 'override: {nvidia: {cuda_version_lower_bound: ["12.8"], sm_arch: ["90_real"]}}'
    start_variantd --config "$STATE/config.yaml" # this machine, as if it were another
    run ! grep -q '^variantd_lesser_images ' <(curl --silent --unix-socket "$VARIANTD_SOCKET" http://localhost/metrics)
    run -0 timer --all --from "cri:$socket"
    [[ $output == *"lesser   cri:$socket: $REGISTRY/app:1: cuda12.8 fits it better; crictl -r unix://$socket pull $REGISTRY/app:1"* ]]
    [[ $output == *"none     cri:$socket: $REGISTRY/plain:1: an image without variants"* ]]
    [ "$(metric variantd_lesser_images)" = 1 ]
    # a runtime that does not ask variantd pulls what it has, which is said
    run -0 --separate-stderr timer --from "cri:$socket" --repair
    [[ $output == *"app:1: cuda12.8 fits it better"* ]]
    [ "$(metric variantd_lesser_images)" = 1 ]
    hosts_toml "$STATE/certs.d" "$REGISTRY" "http://$REGISTRY" "http://$VARIANTD"
    run -0 --separate-stderr timer --from "cri:$socket" --repair
    [[ $stderr == "crictl -r unix://$socket pull $REGISTRY/app:1" ]]
    [[ $output != *"could be better"* ]]
    [ "$(cri_digest "$REGISTRY/app:1")" = "$CUDA" ]
    [ "$(metric variantd_lesser_images)" = 0 ]
    run -0 --separate-stderr timer --from "cri:$socket" --repair --strict
    [ -z "$stderr" ]
    # the runtime tells the labels of images, too
    cri_pull "$REGISTRY/labelled:1"
    run timer --all --from "cri:$socket" --profile "$PROFILES/laptop.json"
    [[ $output == *"warning  cri:$socket: $REGISTRY/labelled:1 (cuda99): "*" nvidia :: "* ]]
    # one of which more is told than is read keeps nobody from the others
    # shellcheck disable=SC2046
    mkimage "$STATE/images" busy --file etc/build=busy $(printf -- '--label k%d=v ' {1..2001})
    push_layout "$STATE/images:busy" "$REGISTRY/busy:1"
    cri_pull "$REGISTRY/busy:1"
    run -1 timer --all --from "cri:$socket"
    [[ $output == *"1 of its images cannot be read: more than 2000 variables and labels"* ]]
    [[ $output == *"none     cri:$socket: $REGISTRY/plain:1: an image without variants"* ]]
    cri rmi "$REGISTRY/busy:1"
    # nothing is pulled while nobody chooses
    hosts_toml "$STATE/certs.d" "$REGISTRY" "http://$REGISTRY"
    cri rmi "$REGISTRY/app:1"
    cri_pull "$REGISTRY/app:1"
    run -0 timer --from "cri:$socket"
    [[ $output == *"app:1: cuda12.8 fits it better"* ]]
    stop_daemon variantd
    hosts_toml "$STATE/certs.d" "$REGISTRY" "http://$REGISTRY" "http://$VARIANTD"
    pulls=$(upstream_count "app/manifests")
    OCV_STATE_DIR=$STATE/node run -0 --separate-stderr timer --from "cri:$socket" --repair
    [[ $stderr != *"crictl"* || $stderr == *"variantd does not answer, and chooses what is pulled"* ]]
    [ "$(upstream_count "app/manifests")" = "$pulls" ]
    cri rmi "$REGISTRY/app:1"
    write_config
    stop_daemon cri
}

@test "what a kubelet's runtime has, by its socket alone: seen, counted, pulled again" {
    require containerd ctr runc
    [ "$(id -u)" = 0 ] || skip "needs root"
    repaired_by_runtime start_cri
}

@test "the same with containerd 2.x" {
    local reason
    reason=$(containerd2_here) || skip "$reason"
    [ "$(id -u)" = 0 ] || skip "needs root"
    repaired_by_runtime start_cri2
}

# a verify in the background; its number is $rounds, and what it says is in the file
rounds_of() # FILE ARGUMENT...
{
    local file=$BATS_TEST_TMPDIR/$1
    shift
    "$VARIANTCTL" verify --config "$STATE/config.yaml" "$@" >"$file" 2>&1 3>&- &
    rounds=$!
}

lines_in() # FILE NUMBER SECONDS
{
    for ((i = 0; i < $3 * 10; i++)); do
        [ "$(grep -c . "$BATS_TEST_TMPDIR/$1")" -lt "$2" ] || return 0
        sleep 0.1
    done
    cat "$BATS_TEST_TMPDIR/$1"
    return 1
}

@test "verify --every: round after round, until it is told to stop or fails three times" {
    stop_daemon variantd
    layout=oci:$BATS_TEST_TMPDIR/none
    "$VPULL" --config "$STATE/config.yaml" --profile "$PROFILES/laptop.json" --to "$layout" --quiet "$REGISTRY/plain:1"
    rounds_of some --every 1s --from "$layout" --profile "$PROFILES/laptop.json"
    lines_in some 3 10
    kill "$rounds"
    wait "$rounds"
    [ "$(sort -u "$BATS_TEST_TMPDIR/some")" = "1 image: 1 have no record here" ]
    rounds_of first --every 1h --from "$layout" --profile "$PROFILES/laptop.json"
    lines_in first 1 10
    kill -INT "$rounds"
    code=0
    wait "$rounds" || code=$?
    [ "$code" = 130 ]
    # whoever starts it may ignore that children end
    # shellcheck disable=SC2016 # Perl's
    perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' "$VARIANTCTL" verify --every 1s --from "$layout" --profile "$PROFILES/laptop.json" \
        >"$BATS_TEST_TMPDIR/ignored" 3>&- &
    rounds=$!
    lines_in ignored 2 10
    kill "$rounds"
    wait "$rounds"
    run -1 --separate-stderr timeout 20 "$VARIANTCTL" verify --every 1s --from oci:/nonexistent --profile "$PROFILES/laptop.json"
    [ "$stderr" = "$(printf 'variantctl: /nonexistent: no such directory\n%.0s' 1 2 3)" ]
    for wrong in 0 x 1d2 1.5m; do
        run -2 --separate-stderr "$VARIANTCTL" verify --every "$wrong"
        [[ $stderr == *"--every: '$wrong' is not a duration"* ]]
    done
}

@test "without variantd a kubelet's runtime is not asked, since it would pull the default" {
    stop_daemon variantd
    # soon again, whatever the time between rounds: variantd may be about to start
    rounds_of none --every 1h --repair --from "cri:$BATS_TEST_TMPDIR/nobody.sock"
    lines_in none 2 20
    kill "$rounds"
    wait "$rounds"
    [ "$(sort -u "$BATS_TEST_TMPDIR/none")" = \
        "variantctl: warning: variantd does not answer, and chooses for cri:$BATS_TEST_TMPDIR/nobody.sock" ]
}

@test "a lower-ranked entry is lesser, too; what is the best, or the only one, is not" {
    daemon_up
    for digest in "$DEFAULT" "$V3"; do
        run -0 verdict "ref=$REGISTRY/app:1" "digest=$digest"
        [ "$(jq -r '"\(.verdict) \(.fit) \(.required)"' <<<"$output")" = "lesser cuda12.8 null" ]
    done
    [ "$(verdict "ref=$REGISTRY/app:1" "digest=$CUDA" | jq -r .verdict)" = fits ]
    [ "$(verdict "ref=$REGISTRY/app:1" "digest=$ROCM" | jq -r .verdict)" = misfit ]
    [ "$(verdict "ref=$REGISTRY/plain:1" "digest=$PLAIN" | jq -r .verdict)" = none ]
    stop_daemon variantd
    start_variantd --config "$STATE/config.yaml" --profile "$PROFILES/laptop.json"
    # what was chosen is not the best any more when something better comes up
    OCV_STATE_DIR=$STATE/node "$VPULL" --config "$STATE/config.yaml" --profile "$PROFILES/laptop.json" --to "oci:$STATE/laptop" --quiet "$REGISTRY/app:1"
    chosen=$(skopeo inspect --raw "oci:$STATE/laptop" | sha256sum)
    chosen=sha256:${chosen%% *}
    [ "$(verdict "ref=$REGISTRY/app:1" "digest=$chosen" | jq -r .verdict)" = fits ]
    stop_daemon variantd
    daemon_up
    [ "$(verdict "ref=$REGISTRY/app:1" "digest=$chosen" | jq -r .verdict)" = lesser ]
    run -0 env OCV_STATE_DIR="$STATE/node" "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from "oci:$STATE/laptop"
    [[ $output == *lesser*"cuda12.8 fits it better; vpull --to oci:$STATE/laptop $REGISTRY/app:1"* ]]
    stop_daemon variantd
}

# checked POLICY DIGEST
checked()
{
    OCIVARIANT_CONFIG=$STATE/$1.yaml "$VERIFIER" -name "$REGISTRY/app:1" -digest "$2" \
        -stdin-media-type application/vnd.oci.descriptor.v1+json <<<"{\"digest\":\"$2\"}"
}

@test "a lesser build passes, unless the configuration requires what it lacks" {
    for policy in enforce warn; do
        { cat "$STATE/config.yaml" && echo "policy: $policy"; } >"$STATE/$policy.yaml"
    done
    daemon_up "$STATE/enforce.yaml"
    run -0 --separate-stderr checked enforce "$DEFAULT"
    [ -z "$output$stderr" ]
    stop_daemon variantd
    for policy in enforce warn; do
        printf 'repositories: {"%s/app": {require: [nvidia]}}\n' "$REGISTRY" >>"$STATE/$policy.yaml"
    done
    daemon_up "$STATE/enforce.yaml"
    run -1 checked enforce "$DEFAULT"
    [[ $output == "$REGISTRY/app:1 is not the best for this node: cuda12.8 fits it better, and nvidia is required" ]]
    run -1 checked enforce "$V3"
    run -0 --separate-stderr checked warn "$DEFAULT"
    [[ $stderr == *"warning: $REGISTRY/app:1 is not the best"* ]]
    run -0 --separate-stderr checked enforce "$CUDA"
    [ -z "$output$stderr" ]
    # of another repository nothing is required
    run -0 verdict "ref=$REGISTRY/plain:1" "digest=$PLAIN"
    [ "$(jq -r '"\(.verdict) \(.required)"' <<<"$output")" = "none null" ]
    stop_daemon variantd
}
