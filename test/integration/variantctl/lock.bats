#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl lock, vpull --locked, variantctl verify.

load ../harness
load ../images
load ../variantd

setup_file()
{
    state_start
    start_registry
    make_variants "$STATE/images"
    push_layout "$STATE/images:app" "$REGISTRY/app:1"
    skopeo copy --quiet --dest-tls-verify=false "oci:$STATE/images:cpu" "docker://$REGISTRY/plain:1" 3>&-
    export CUDA ROCM INDEX
    CUDA=$(digest_of cuda12.8)
    ROCM=$(digest_of rocm7.1)
    INDEX=sha256:$(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/app:1" | sha256sum | cut -d' ' -f1)
    mkdir "$STATE/machines"
    cp "$PROFILES"/{h100,mi300x}.json "$STATE/machines/"
}

lock()
{
    "$VARIANTCTL" lock "$@"
}

@test "a lock has the index and each machine's manifest, the same bytes every time" {
    run -0 lock --profiles "$STATE/machines" -o "$STATE/a.lock" "$REGISTRY/app:1" "$REGISTRY/plain:1"
    [ "$(jq -r .schema "$STATE/a.lock")" = dev.ocivariant.lock/v1 ]
    [ "$(jq -r '.images[0].index' "$STATE/a.lock")" = "$INDEX" ]
    [ "$(jq -r '.images[0].profiles.h100.digest' "$STATE/a.lock")" = "$CUDA" ]
    [ "$(jq -r '.images[0].profiles.h100.label' "$STATE/a.lock")" = cuda12.8 ]
    [ "$(jq -r '.images[0].profiles.mi300x.digest' "$STATE/a.lock")" = "$ROCM" ]
    [ "$(jq -c '.images[0].profiles.mi300x.properties' "$STATE/a.lock")" = '["amd :: gfx_arch :: gfx942"]' ]
    [ "$(jq -r '.images[1].profiles.h100.label' "$STATE/a.lock")" = null ]
    run -0 lock --profile "mi300x=$PROFILES/mi300x.json" --profile "h100=$PROFILES/h100.json" \
        "$REGISTRY/app:1" "$REGISTRY/plain:1"
    [ "$output" = "$(cat "$STATE/a.lock")" ]
}

@test "--check: has anything moved; --update locks the same again" {
    export OCV_DATADIR=$OCV_TOP/plugins
    local file=$BATS_TEST_TMPDIR/m.lock
    push_layout "$STATE/images:app" "$REGISTRY/moves:1"
    lock --profile h100 --profile mi300x -o "$file" "$REGISTRY/moves:1" "$REGISTRY/plain:1"
    run -0 lock --check "$file"
    [ "$output" = "" ]
    push_layout "$STATE/images:cpu" "$REGISTRY/moves:1"
    run -5 --separate-stderr lock --check "$file"
    [[ $output == "$REGISTRY/moves:1: was $INDEX, is sha256:"* && ${#lines[@]} = 1 ]]
    [ "${stderr_lines[0]}" = "variantctl: $file: 1 of 2 images have moved" ]
    [ "${stderr_lines[1]}" = "hint: variantctl lock --update $file" ]
    run -0 lock --update "$file"
    [ "$(jq -c '[.images[].profiles | keys]' "$file")" = '[["h100","mi300x"],["h100","mi300x"]]' ]
    [ "$(jq -r '.images[0].index' "$file")" != "$INDEX" ]
    run -0 lock --check "$file"
    # a machine of one's own has to be given again
    lock --profile "mine=$PROFILES/h100.json" -o "$file" "$REGISTRY/plain:1"
    run -2 --separate-stderr lock --update "$file"
    [[ $stderr == "variantctl: $file is locked for 'mine', whose profile is not given"* ]]
    run -0 lock --profile "mine=$PROFILES/h100.json" --update "$file"
    run -2 lock --check "$file" "$REGISTRY/plain:1"
    run -1 lock --check "$BATS_TEST_TMPDIR/none"
}

@test "--update takes a shipped profile only where the lock says that it was one" {
    export OCV_DATADIR=$OCV_TOP/plugins
    local file=$BATS_TEST_TMPDIR/names.lock name
    # a machine of one's own whose name looks like a common one, and one that looks like this one
    for name in h100 this; do
        lock --profile "$name=$PROFILES/mi300x.json" -o "$file" "$REGISTRY/app:1"
        [ "$(jq -c ".images[0].profiles.\"$name\" | [.label, .source]" "$file")" = '["rocm7.1",null]' ]
        run -2 --separate-stderr lock --update "$file"
        [[ $stderr == "variantctl: $file is locked for '$name', whose profile is not given"* ]]
    done
    # a common one under another name
    lock --profile mine=h100 -o "$file" "$REGISTRY/app:1"
    [ "$(jq -c '.images[0].profiles.mine | [.label, .source]' "$file")" = '["cuda12.8","h100"]' ]
    # and a file that is called so now is not it
    mkdir "$BATS_TEST_TMPDIR/here"
    cp "$PROFILES/mi300x.json" "$BATS_TEST_TMPDIR/here/h100"
    cd "$BATS_TEST_TMPDIR/here"
    run -0 lock --update "$file"
    [ "$(jq -c '.images[0].profiles.mine | [.label, .source]' "$file")" = '["cuda12.8","h100"]' ]
    lock --profile h100 -o "$file" "$REGISTRY/app:1"
    [ "$(jq -c '.images[0].profiles.h100 | [.label, .source]' "$file")" = '["rocm7.1",null]' ]
    lock -o "$file" "$REGISTRY/app:1"
    [ "$(jq -r '.images[0].profiles.this.source' "$file")" = "this machine" ]
    run -0 lock --update "$file"
}

@test "a lock has the properties that matched, not all that would have" {
    "$VARIANTCTL" index create --quiet "oci:$STATE/choice:app" "null=oci:$STATE/images:cpu" \
        "cuda=oci:$STATE/images:cuda,nvidia :: sm_arch :: 75_real,nvidia :: sm_arch :: 90_real,nvidia :: sm_arch :: 120_real" >/dev/null
    run -0 lock --profiles "$STATE/machines" "oci:$STATE/choice:app"
    [ "$(jq -c '.images[0].profiles.h100.properties' <<<"$output")" = '["nvidia :: sm_arch :: 90_real"]' ]
    [ "$(jq -c '.images[0].profiles.mi300x | [.label, .properties]' <<<"$output")" = '[null,[]]' ]
}

@test "a new lock has the mode that the umask leaves, one that is written again keeps its own" {
    (umask 077 && lock --profiles "$STATE/machines" -o "$STATE/mode.lock" "$REGISTRY/app:1")
    [ "$(stat -c %a "$STATE/mode.lock")" = 600 ]
    chmod 640 "$STATE/mode.lock"
    lock --profiles "$STATE/machines" -o "$STATE/mode.lock" "$REGISTRY/plain:1"
    [ "$(stat -c %a "$STATE/mode.lock")" = 640 ]
    grep -q plain "$STATE/mode.lock"
}

@test "an image that cannot be locked: no lock is written" {
    run -2 lock -o "$STATE/none.lock"
    mkfifo "$STATE/pipe" # as /dev/stdout may be: written through, never replaced
    jq .schema <"$STATE/pipe" >"$STATE/piped" 3>&- &
    run -0 lock --profiles "$STATE/machines" -o "$STATE/pipe" "$REGISTRY/app:1"
    wait $!
    [ -p "$STATE/pipe" ]
    grep -q lock "$STATE/piped"
    run -1 lock --profiles "$STATE/machines" -o "$STATE/none.lock" "$REGISTRY/app:1" "$REGISTRY/missing:1"
    run -1 lock --profiles "$STATE/nowhere" -o "$STATE/none.lock" "$REGISTRY/app:1"
    echo '{}' >"$STATE/bad.json"
    run -4 lock --profile "bad=$STATE/bad.json" -o "$STATE/none.lock" "$REGISTRY/app:1"
    run -2 lock --profile "a=$PROFILES/h100.json" --profile "a=$PROFILES/h100.json" -o "$STATE/none.lock" "$REGISTRY/app:1"
    [[ $output == *"named twice"* ]]
    [ ! -e "$STATE/none.lock" ]
    run ! ls "$STATE"/none.lock.*
}

@test "a digest stays a digest in a lock, and an image that is named twice is locked once" {
    run -0 lock --profiles "$STATE/machines" -o "$STATE/pinned.lock" "$REGISTRY/app:ignored@$INDEX" "$REGISTRY/app@$INDEX"
    [ "$(jq -c '[.images[].reference]' "$STATE/pinned.lock")" = "[\"$REGISTRY/app@$INDEX\"]" ]
    run -0 "$VPULL" --profile "$PROFILES/h100.json" --to "oci:$STATE/pinned" --quiet --locked "$STATE/pinned.lock"
    [ "$output" = "$CUDA" ]
    run ! grep -q latest "$STATE/pinned/index.json"
    run -0 "$VPULL" --profile "$PROFILES/mi300x.json" --print-ref --locked "$STATE/pinned.lock" "$REGISTRY/app@$INDEX"
    [ "$output" = "$REGISTRY/app@$ROCM" ]
    run -1 "$VPULL" --profile "$PROFILES/mi300x.json" --print-ref --locked "$STATE/pinned.lock" "$REGISTRY/app:1"
}

@test "an image of a layout is locked by its digest, too" {
    run -0 lock --profiles "$STATE/machines" -o "$STATE/layout.lock" "oci:$STATE/images:app"
    run -0 "$VPULL" --profile "$PROFILES/h100.json" --to "oci:$STATE/from-layout" --quiet --locked "$STATE/layout.lock"
    [ "$output" = "$CUDA" ]
    sed "s/$INDEX/sha256:$(printf 'a%.0s' {1..64})/" "$STATE/layout.lock" >"$STATE/other.lock"
    run -4 "$VPULL" --profile "$PROFILES/h100.json" --to "oci:$STATE/never" --locked "$STATE/other.lock"
    [[ $output == *"is $INDEX, but sha256:aaa"*"is locked"* ]]
}

@test "vpull --locked pulls what is locked, under the name that was locked" {
    lock --profiles "$STATE/machines" -o "$STATE/b.lock" "$REGISTRY/app:1"
    run -0 "$VPULL" --profile "$PROFILES/h100.json" --to "oci:$STATE/pulled" --quiet --locked "$STATE/b.lock"
    [ "$output" = "$CUDA" ]
    [ "$(jq -r '.manifests[0].annotations["io.containerd.image.name"]' "$STATE/pulled/index.json")" = "$REGISTRY/app:1" ]
    run -0 "$VPULL" --profile "$PROFILES/mi300x.json" --to "oci:$STATE/pulled2" --quiet --locked "$STATE/b.lock" "$REGISTRY/app:1"
    [ "$output" = "$ROCM" ]
    run -0 --separate-stderr "$VPULL" --to "oci:$STATE/pulled3" --quiet --locked "$STATE/b.lock" --lock-profile mi300x
    [ "$output" = "$ROCM" ]
}

@test "--lock-profile: another machine's build is not compared with this one" {
    export OCV_STATE_DIR=$BATS_TEST_TMPDIR/state
    lock --profiles "$STATE/machines" -o "$STATE/other.lock" "$REGISTRY/app:1"
    # what was pulled before is known by its digest
    run -0 "$VPULL" --profile "$PROFILES/h100.json" --to "oci:$STATE/other" --quiet "$REGISTRY/app:1"
    run -0 --separate-stderr "$VPULL" --dry-run --profile "$PROFILES/laptop.json" "${REGISTRY}/app@$CUDA"
    [[ $stderr == *"does not fit this host"* ]]
    run -0 --separate-stderr "$VPULL" --dry-run --profile "$PROFILES/laptop.json" --locked "$STATE/other.lock" --lock-profile h100
    [ "$output" = "$CUDA" ]
    [[ $stderr != *"does not fit"* ]]
}

@test "--lock-profile names the variant as the lock does" {
    lock --profiles "$STATE/machines" -o "$STATE/by-name.lock" "$REGISTRY/app:1"
    run -0 "$VPULL" --to "oci:$STATE/by-name" --locked "$STATE/by-name.lock" --lock-profile h100
    [[ $output == *$'\n'"cuda12.8"$'\n'* && $output != *"without variants"* ]]
    run -0 "$VPULL" --to "oci:$STATE/by-name" --progress json --locked "$STATE/by-name.lock" --lock-profile h100
    [[ $output == *'"label": "cuda12.8"'* || $output == *'"label":"cuda12.8"'* ]]
}

# Locks of 0.1.0 have no tags, and no tag rules.
@test "a lock that an older version wrote is pulled by" {
    jq -n --arg ref "$REGISTRY/app:1" --arg index "$INDEX" --arg digest "$CUDA" '{images: [{index: $index,
        mediaType: "application/vnd.oci.image.index.v1+json", profiles: {h100: {digest: $digest, label: "cuda12.8",
        mediaType: "application/vnd.oci.image.manifest.v1+json", properties: ["nvidia :: sm_arch :: 90_real"], size: 549}},
        reference: $ref}], schema: "dev.ocivariant.lock/v1"}' >"$STATE/old.lock"
    run -0 "$VPULL" --profile "$PROFILES/h100.json" --print-ref --locked "$STATE/old.lock"
    [ "$output" = "$REGISTRY/app@$CUDA" ]
    run -0 "$VPULL" --print-ref --locked "$STATE/old.lock" --lock-profile h100
    [ "$output" = "$REGISTRY/app@$CUDA" ]
}

@test "the lock holds when the tag moves" {
    lock --profiles "$STATE/machines" -o "$STATE/c.lock" "$REGISTRY/app:1"
    skopeo copy --quiet --src-tls-verify=false --dest-tls-verify=false "docker://$REGISTRY/plain:1" "docker://$REGISTRY/app:moved" 3>&-
    sed "s|$REGISTRY/app:1|$REGISTRY/app:moved|" "$STATE/c.lock" >"$STATE/moved.lock"
    run -0 "$VPULL" --profile "$PROFILES/h100.json" --print-ref --locked "$STATE/moved.lock"
    [ "$output" = "$REGISTRY/app@$CUDA" ]
}

@test "a machine whose choice is not locked, or an image that is not, gets nothing" {
    lock --profile "mi300x=$PROFILES/mi300x.json" -o "$STATE/d.lock" "$REGISTRY/app:1"
    run -3 "$VPULL" --profile "$PROFILES/h100.json" --to "oci:$STATE/never" --locked "$STATE/d.lock"
    [[ $output == *"would get cuda12.8"*"not locked"* ]]
    run -1 "$VPULL" --to "oci:$STATE/never" --locked "$STATE/d.lock" "$REGISTRY/other:1"
    [[ $output == *"not in $STATE/d.lock"* ]]
    run -1 "$VPULL" --to "oci:$STATE/never" --locked "$STATE/d.lock" --lock-profile h100
    [[ $output == *"nothing is locked for 'h100'"* ]]
    run -2 "$VPULL" --lock-profile x "$REGISTRY/app:1"
    run -2 "$VPULL" --locked "$STATE/d.lock" --tag x
}

@test "a lock that is none is exit 4" {
    for text in '' '{' '[]' '{"schema":"dev.ocivariant.lock/v1","images":[]}' \
        '{"schema":"dev.ocivariant.lock/v1","images":[{"reference":"a"}]}' \
        '{"schema":"dev.ocivariant.lock/v1","images":[{"reference":"a","index":"sha256:x","profiles":{}}]}' \
        "{\"schema\":\"dev.ocivariant.lock/v1\",\"images\":[{\"reference\":\"a\",\"index\":\"$INDEX\",\"profiles\":{\"x\":{\"digest\":\"../x\"}}}]}" \
        "{\"schema\":\"dev.ocivariant.lock/v1\",\"images\":[{\"reference\":\"a:1\",\"index\":\"$INDEX\",\"tags\":{\"../x\":{\"digest\":\"$INDEX\"}},\"profiles\":{\"x\":{\"digest\":\"$INDEX\"}}}]}" \
        "{\"schema\":\"dev.ocivariant.lock/v1\",\"images\":[{\"reference\":\"a:1\",\"index\":\"$INDEX\",\"tags\":{\"1\":{}},\"profiles\":{\"x\":{\"digest\":\"$INDEX\"}}}]}" \
        "{\"schema\":\"dev.ocivariant.lock/v1\",\"images\":[{\"reference\":\"../../x y\",\"index\":\"$INDEX\",\"profiles\":{\"x\":{\"digest\":\"$INDEX\"}}}]}"; do
        printf '%s' "$text" >"$STATE/broken.lock"
        run -4 "$VPULL" --to "oci:$STATE/never" --locked "$STATE/broken.lock"
    done
    run -1 "$VPULL" --to "oci:$STATE/never" --locked "$STATE/missing.lock"
    [ ! -e "$STATE/never" ]
}

@test "verify: what was pulled fits the machine it was pulled for, and no other" {
    export OCV_STATE_DIR=$STATE/verify
    "$VPULL" --profile "$PROFILES/h100.json" --to "oci:$STATE/mine" --quiet "$REGISTRY/app:1"
    run -0 "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from "oci:$STATE/mine"
    [ "$output" = "1 image: 1 fit" ]
    run -5 "$VARIANTCTL" verify --profile "$PROFILES/mi300x.json" --from "oci:$STATE/mine"
    [[ $output == *"misfit"*"oci:$STATE/mine"*"(cuda12.8)"*"; vpull --to oci:$STATE/mine $REGISTRY/app:1"* ]]
    run -5 "$VARIANTCTL" verify --profile "$PROFILES/mi300x.json" --from "oci:$STATE/mine" --format json
    [ "$(jq -r '.images[0].verdict' <<<"$output")" = misfit ]
    [ "$(jq -r .ok <<<"$output")" = false ]
    # nothing is known of images that were never resolved here
    OCV_STATE_DIR=$STATE/empty run -0 "$VARIANTCTL" verify --profile "$PROFILES/mi300x.json" --from "oci:$STATE/images" --all
    [[ $output != *"do not"* ]]
    [[ $output == *"fits"*"oci:$STATE/images: app"* ]] # by what stands in it
    [[ $output == *"none     oci:$STATE/images: cpu: no record here says whether it is a variant"* ]]
    [[ $output == *[1-9]" have no record here"* && $output != *"have no variants"* ]]
    # a layout's own tag, and what was asked for
    cp -r "$STATE/mine" "$STATE/tagged"
    jq '.manifests[0].annotations = {"org.opencontainers.image.ref.name": "mine"}' "$STATE/mine/index.json" >"$STATE/tagged/index.json"
    run -5 "$VARIANTCTL" verify --profile "$PROFILES/mi300x.json" --from "oci:$STATE/tagged" --format json
    [ "$(jq -r '.images[0].remedy' <<<"$output")" = "vpull --to oci:$STATE/tagged:mine $REGISTRY/app:1" ]
    rm -r "$STATE/tagged"
    # one that vpull was told to give
    "$VPULL" --profile "$PROFILES/h100.json" --to "oci:$STATE/tagged:given" --quiet "$REGISTRY/app:1"
    run -5 "$VARIANTCTL" verify --profile "$PROFILES/mi300x.json" --from "oci:$STATE/tagged" --format json
    [ "$(jq -r '.images[0].remedy' <<<"$output")" = "vpull --to oci:$STATE/tagged:given $REGISTRY/app:1" ]
    rm -r "$STATE/tagged"
    run -5 "$VARIANTCTL" verify --profile "$PROFILES/mi300x.json" --from "oci:$STATE/mine"
    run -1 "$VARIANTCTL" verify --from "oci:$STATE/nowhere"
    run -2 "$VARIANTCTL" verify --from somewhere
    run -2 "$VARIANTCTL" verify --label cpu # what it does not choose by, it does not take
    [[ $output == *"unknown option '--label'"* ]]
    run -2 "$VARIANTCTL" verify podman
    [[ $output == *"verify takes no argument, not 'podman'"*"--from"* ]]
}

@test "verify knows the siblings of what was resolved; labels alone are a warning" {
    export OCV_STATE_DIR=$STATE/siblings
    run -0 "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from "oci:$STATE/images" --format json
    [ "$(jq -r '[.images[] | select(.verdict == "misfit")] | length' <<<"$output")" = 0 ]
    "$VPULL" --profile "$PROFILES/h100.json" --to "oci:$STATE/one" --quiet "$REGISTRY/app:1"
    run -5 "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from "oci:$STATE/images" --format json
    [ "$(jq -r '[.images[] | select(.verdict == "misfit") | "\(.label) \(.by)"] | unique | .[]' <<<"$output")" = "rocm7.1 index" ]
    mkimage "$STATE/inherited" labelled --label dev.ocivariant.label=rocm7.1 --label 'dev.ocivariant.properties=amd :: gfx_arch :: gfx942'
    run -0 "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from "oci:$STATE/inherited"
    [[ $output == *"warning"*"(rocm7.1)"*"1 do not fit by their labels"* ]]
}

@test "verify shows nothing that a terminal would act on" {
    mkimage "$STATE/odd" odd --label $'dev.ocivariant.label=\e[31mred' --label 'dev.ocivariant.properties=amd :: gfx_arch :: gfx942'
    run -0 "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from "oci:$STATE/odd" --all
    [[ $output == *"(?[31mred)"* ]]
    [[ $output != *$'\e'* ]]
}

@test "verify: an index in a layout of which nothing runs here" {
    export OCV_STATE_DIR=$STATE/verify3
    "$VARIANTCTL" index create --quiet --no-lint "oci:$STATE/only:app" \
        "rocm7.1=oci:$STATE/images:rocm,amd :: gfx_arch :: gfx942" >/dev/null
    run -0 "$VARIANTCTL" verify --profile "$PROFILES/mi300x.json" --from "oci:$STATE/only"
    run -5 "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from "oci:$STATE/only"
    [[ $output == *"misfit"*"oci:$STATE/only: app: no variant fits"* ]]
}

@test "verify asks podman and containerd what they have" {
    require podman containerd ctr
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_podman
    export OCV_STATE_DIR=$STATE/verify2
    "$VPULL" --profile "$PROFILES/h100.json" --to podman --quiet "$REGISTRY/app:1" 3>&-
    run -5 "$VARIANTCTL" verify --profile "$PROFILES/mi300x.json" --from podman 3>&-
    [[ $output == *"misfit"*"podman: $REGISTRY/app:1 (cuda12.8)"*"; vpull --to podman $REGISTRY/app:1"$'\n'* ]]
    # past us, by the index: podman keeps it under the index's digest, and knows the entry's
    podman rmi --all --force >/dev/null 3>&-
    podman pull --quiet --tls-verify=false "$REGISTRY/app@$INDEX" 3>&-
    run -0 "$VARIANTCTL" verify --profile "$PROFILES/mi300x.json" --from podman --format json 3>&-
    [ "$(jq -r '.images[] | "\(.label) \(.verdict) \(.by)"' <<<"$output")" = "null fits index" ]
    start_containerd
    "$VPULL" --profile "$PROFILES/h100.json" --to containerd -n k8s.io --quiet "$REGISTRY/app:1" 3>&-
    run -5 "$VARIANTCTL" verify --profile "$PROFILES/mi300x.json" --from containerd 3>&-
    [[ $output == *"containerd:k8s.io: $REGISTRY/app:1 (cuda12.8)"*"; vpull --to containerd -n k8s.io $REGISTRY/app:1"$'\n'* ]]
    run -0 "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from containerd 3>&-
}

misfits()
{
    [ "$(metric variantd_misfit_images)" = "$1" ]
}

@test "variantd says what no longer fits when the profile changes" {
    export OCV_STATE_DIR=$STATE/node
    rm -rf "$STATE/node" # what the tests before have recorded
    "$VPULL" --profile "$PROFILES/h100.json" --to "oci:$STATE/there" --quiet "$REGISTRY/app:1"
    cp "$PROFILES/h100.json" "$STATE/profile.json"
    start_variantd changing --registry "$REGISTRY" --profile "$STATE/profile.json"
    misfits 0
    cp "$PROFILES/mi300x.json" "$STATE/profile.json"
    kill -HUP "$(cat "$STATE/pids/changing")"
    await changing grep -q "no longer fits" "$STATE/log/changing"
    grep -q "$REGISTRY/app:1 (cuda12.8) no longer fits" "$STATE/log/changing"
    await changing misfits 1
    stop_daemon changing
    start_variantd restarted --registry "$REGISTRY" --profile "$STATE/profile.json"
    await restarted grep -q "$REGISTRY/app:1 (cuda12.8) no longer fits" "$STATE/log/restarted"
    await restarted misfits 1
    stop_daemon restarted
}

# `dev.ocivariant.static.NS` of an index is part of every machine's profile, and of no other index's
@test "what fits by its publisher's own list fits on another day, too" {
    export OCV_STATE_DIR=$STATE/node
    rm -rf "$STATE/node"
    "$VARIANTCTL" index create --quiet "oci:$STATE/ranked:app" --namespaces 'priority, nvidia' --static 'priority=order :: 1, order :: 2' \
        "null=oci:$STATE/images:cpu" \
        "cuda12.6=oci:$STATE/images:v3,nvidia :: cuda_version_lower_bound :: 12.6,priority :: order :: 2" \
        "cuda12.8=oci:$STATE/images:cuda,nvidia :: cuda_version_lower_bound :: 12.8,priority :: order :: 1" >/dev/null
    push_layout "$STATE/ranked:app" "$REGISTRY/ranked:1"
    # one that does not fit, so that the daemon has something to say
    "$VPULL" --profile "$PROFILES/mi300x.json" --to "oci:$STATE/other" --quiet "$REGISTRY/app:1"
    run -0 "$VPULL" --profile "$PROFILES/h100.json" --to "oci:$STATE/best" --quiet "$REGISTRY/ranked:1"
    [ "$output" = "$CUDA" ]
    run -0 "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from "oci:$STATE/best"
    [ "$output" = "1 image: 1 fit" ]
    # the other index has the same images under other names: of one without a name nothing is known
    run "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from "oci:$STATE/images" --format json
    [ "$(jq -r --arg d "$(digest_of cpu.v3)" '.images[] | select(.digest == $d) | "\(.verdict) \(.label)"' <<<"$output")" = "none null" ]
    "$VPULL" --label cuda12.6 --profile "$PROFILES/h100.json" --to "oci:$STATE/named" --quiet "$REGISTRY/ranked:1"
    rm "$STATE/node/resolved/$(record_of "$(digest_of cpu.v3)" "$REGISTRY/ranked")"
    run -0 "$VARIANTCTL" verify --profile "$PROFILES/h100.json" --from "oci:$STATE/named" --format json
    [ "$(jq -r '.images[] | "\(.verdict) \(.by) \(.label)"' <<<"$output")" = "lesser index cuda12.6" ]
    start_variantd ranked --registry "$REGISTRY" --profile "$PROFILES/h100.json"
    await ranked misfits 1
    [ "$(grep -c 'no longer fits' "$STATE/log/ranked")" = 1 ]
    for digest in "$CUDA" "$(digest_of cpu.v3)"; do
        run -0 curl --silent --get --unix-socket "$VARIANTD_SOCKET" --data-urlencode "ref=$REGISTRY/ranked@$digest" \
            --data-urlencode "digest=$digest" http://localhost/v1/verdict
        [[ $output == "{\"verdict\":\"$([ "$digest" = "$CUDA" ] && echo fits || echo lesser)\""* ]]
    done
    stop_daemon ranked
}
