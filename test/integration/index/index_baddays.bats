#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Authoring and lint on bad days: nothing answers, what is read is broken or at its limit, files that
# may not be written; and the same bytes in every surrounding.

load ../harness

setup_file()
{
    state_start
    export L=$STATE/images OCV_DATADIR=$OCV_TOP/plugins
    mkimage "$L" cpu >/dev/null
    mkimage "$L" v3 --file etc/build=v3 >/dev/null
}

setup()
{
    cd "$BATS_TEST_TMPDIR" || return 1
    : >.git # settings of lint are looked for up to here
}

# many N: an index with so many entries
many()
{
    jq -nc --argjson n "$1" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
        manifests: [range($n) | {mediaType: "application/vnd.oci.image.manifest.v1+json", size: 1,
        digest: ("sha256:" + ("0000\(.)"[-4:] * 16)), platform: {os: "linux", architecture: "amd64"}}]}'
}

# letters N: that many
letters()
{
    printf "%0$1d" 0 | tr 0 a
}

@test "nobody answers: the host is named, exit 1, and a report does not look clean" {
    local dead
    dead=127.0.0.1:$(free_port)
    run -1 "$VARIANTCTL" index create "$dead/app:1" "null=oci:$L:cpu"
    [[ $output == *"$dead/app:1: cannot connect to $dead: Connection refused"* ]]
    run -1 "$VARIANTCTL" index copy "oci:$L:cpu" "$dead/app:1"
    run -1 "$VARIANTCTL" index show "$dead/app:1"
    run -1 "$VARIANTCTL" tags plan "$dead/app"
    [[ $output == *"$dead/app: list of tags: cannot connect to $dead"* ]]
    run -1 --separate-stderr "$VARIANTCTL" lint "$dead/app:1"
    [ "$output" = "1 error (unreadable), 0 warnings, 0 notes" ]
    # shellcheck disable=SC2154 # set by run
    [[ $stderr == *"$dead/app:1: cannot connect to $dead"* ]]
}

@test "a layout that is none, or broken, is named and left as it is" {
    mkdir broken
    echo '{"imageLayoutVersion": "9"}' >broken/oci-layout
    echo '{"schemaVersion": 2, "manifests": [' >broken/index.json
    run -4 "$VARIANTCTL" index create oci:new:1 null=oci:broken:cpu
    [[ $output == *"null: oci:broken:cpu: broken: imageLayoutVersion '9' is not 1.x"* ]]
    [ ! -e new ]
    echo '{"imageLayoutVersion": "1.0.0"}' >broken/oci-layout
    cp -r broken before
    for verb in 'lint oci:broken' 'index show oci:broken:x' "index create oci:broken:x null=oci:$L:cpu" \
        "index copy oci:$L:cpu oci:broken:x"; do
        echo "$verb"
        # shellcheck disable=SC2086
        run -4 "$VARIANTCTL" $verb
        [[ $output == *"broken: index.json is not valid JSON: line "* ]]
    done
    diff -r before broken
    run -1 "$VARIANTCTL" index show oci:nowhere:x
    [[ $output == *"nowhere: no such directory"* ]]
}

@test "a Helm chart as an image is refused by its name" {
    cp -r "$L" chart
    local layout=chart manifest config
    config=$(printf '{}' | sha256sum | cut -d ' ' -f 1)
    printf '{}' >"chart/blobs/sha256/$config"
    manifest='{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.cncf.helm.config.v1+json","digest":"sha256:'$config'","size":2},"layers":[]}'
    digest=$(printf %s "$manifest" | sha256sum | cut -d ' ' -f 1)
    printf %s "$manifest" >"$layout/blobs/sha256/$digest"
    printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%s","size":%s,"annotations":{"org.opencontainers.image.ref.name":"chart"}}]}' \
        "$digest" "${#manifest}" >chart/index.json
    run -4 "$VARIANTCTL" index create oci:none:c null=oci:chart:chart
    [ "$output" = "variantctl: null: oci:chart:chart: the image config names no os and architecture" ]
    [ ! -e none ]
}

@test "of two writers of one layout at the same moment none overwrites the other" {
    local i n=0
    "$VARIANTCTL" index create --quiet oci:both:1 "null=oci:$L:cpu"
    for i in {1..24}; do
        "$VARIANTCTL" index add --quiet oci:both:1 "v$i=oci:$L:v3,acme :: chip :: a$i" >"out.$i" 2>&1 &
    done
    wait
    for i in {1..24}; do
        grep -q '^sha256:' "out.$i" || { cat "out.$i"; grep -q "was changed meanwhile" "out.$i"; }
        ! grep -q '^sha256:' "out.$i" || n=$((n + 1))
    done
    run -0 "$VARIANTCTL" index show --format json oci:both:1
    [ "$(jq '.manifests | length' <<<"$output")" = $((n + 1)) ]
}

@test "entries, labels and properties: at the limit, and one past it" {
    local length
    many 4096 >4096.json
    many 4097 >4097.json
    run -0 "$VARIANTCTL" index diff 4096.json 4096.json
    run -0 "$VARIANTCTL" lint 4096.json
    run -4 "$VARIANTCTL" lint 4097.json
    [[ $output == *"4097.json: index has 4097 entries, at most 4096 are read"* ]]
    run -4 "$VARIANTCTL" index diff 4096.json 4097.json
    run -0 "$VARIANTCTL" index create oci:out:l "null=oci:$L:cpu" "$(letters 48)=oci:$L:v3,x86_64 :: level :: v3"
    run -4 "$VARIANTCTL" index create oci:none:l "null=oci:$L:cpu" "$(letters 49)=oci:$L:v3,x86_64 :: level :: v3"
    [[ $output == *"is not a label"*"at most 48 characters"* ]]
    # 4,000 bytes of properties: "acme :: chip :: " are 16
    length=$((4000 - 16))
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet oci:out:p "null=oci:$L:cpu" "big=oci:$L:v3,acme :: chip :: $(letters $length)"
    run -4 "$VARIANTCTL" index create oci:none:p "null=oci:$L:cpu" "big=oci:$L:v3,acme :: chip :: $(letters $((length + 1)))"
    [[ $output == *big* ]]
    [ ! -e none ]
}

@test "files that are not UTF-8 are refused with their line" {
    printf '{"schemaVersion": 2, "manifests": [], "annotations": {"a": "\xff"}}' >index.json
    run -4 "$VARIANTCTL" lint index.json
    [[ $output == *"index.json: index is not valid JSON: line 1: "* ]]
    printf 'target: oci:none:z\nvariants:\n  - label: "\xff"\n    image: oci:x:cpu\n' >app.yaml
    run -4 "$VARIANTCTL" index create --from app.yaml
    [[ $output == *"app.yaml:3: "* ]]
    printf 'schema: dev.ocivariant.tags/v1\nfamily: \xff\n' >tags.yaml
    run -4 "$VARIANTCTL" tags check tags.yaml
    [[ $output == *"tags.yaml:2: "* ]]
    printf 'a/b:1\na/\xff:2\n' >tags.txt
    run -4 "$VARIANTCTL" lint tags.txt
    [[ $output == *"tags.txt:2: "* ]]
    run -4 "$VARIANTCTL" index create oci:none:z "null=oci:$L:cpu" --annotation $'a=\xff'
    run -2 "$VARIANTCTL" tags parse $'vllm/vllm-openai:v\xff'
    [[ $output != *$'\xff'* ]] # a terminal gets nothing that it may not show
    [ ! -e none ]
}

@test "several inputs: all are checked, and the first that is not well gives the code" {
    many 4097 >many.json
    "$VARIANTCTL" index create --quiet oci:out:1 "null=oci:$L:cpu" "v3=oci:$L:v3,x86_64 :: level :: v3"
    "$VARIANTCTL" index show --format json oci:out:1 | jq 'del(.annotations)' >bare.json
    run -4 --separate-stderr "$VARIANTCTL" lint many.json bare.json nowhere.json
    [[ $output == *"bare.json:"*"OCV101"*"2 errors (2 unreadable), 2 warnings, 0 notes" ]]
    [[ $stderr == *"many.json: "*"nowhere.json: No such file or directory"* ]]
    jq '.annotations = {"dev.ocivariant.schema": "2"}' bare.json >wrong.json
    run -5 "$VARIANTCTL" lint wrong.json many.json
    run -4 "$VARIANTCTL" lint many.json wrong.json
    run -5 "$VARIANTCTL" lint --fail-on warning bare.json many.json
    run -4 "$VARIANTCTL" lint bare.json many.json
    run -1 "$VARIANTCTL" lint nowhere.json many.json bare.json
}

@test "--fix: a link stays a link, a directory that may not be written keeps its file, nothing to do is fine" {
    require setpriv
    "$VARIANTCTL" index create --quiet oci:out:1 "null=oci:$L:cpu" "v3=oci:$L:v3,x86_64 :: level :: v3"
    "$VARIANTCTL" index show --format json oci:out:1 >good.json
    cp good.json same.json
    run -0 "$VARIANTCTL" lint --fix good.json
    cmp good.json same.json
    jq 'del(.annotations["dev.ocivariant.schema"])' good.json >bare.json
    ln -s bare.json link.json
    run -0 "$VARIANTCTL" lint --fix link.json
    [ -L link.json ]
    [ "$(jq -r '.annotations["dev.ocivariant.schema"]' bare.json)" = 1 ]
    # as somebody who may read here and write nowhere; where root's own directory hides the build, nobody may
    chmod 755 "$STATE"
    [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$VARIANTCTL" || return 0
    mkdir "$STATE/readonly"
    jq 'del(.annotations)' good.json >"$STATE/readonly/index.json"
    cp "$STATE/readonly/index.json" before.json
    cd "$STATE/readonly"
    HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent run -1 setpriv --reuid 65534 --regid 65534 --clear-groups "$VARIANTCTL" lint --fix index.json
    [[ $output == *"index.json"*"Permission denied"* ]]
    cmp index.json "$BATS_TEST_TMPDIR/before.json"
    [ "$(ls)" = index.json ]
}

@test "a full disk is told" {
    echo '{"schemaVersion": 2, "manifests": []}' >index.json
    run -1 "$VARIANTCTL" lint --format json --output /dev/full index.json
    [[ $output == *"/dev/full: No space left on device"* ]]
    "$VARIANTCTL" lint index.json 2>errors >/dev/full && return 1
    grep -q 'standard output: No space left on device' errors
}

@test "the same bytes in every locale, time zone and directory, and on a terminal" {
    local digest line
    make() # LAYOUT
    {
        "$VARIANTCTL" index create --quiet "oci:$1:1" "v3=oci:$L:v3,x86_64 :: level :: v3" "null=oci:$L:cpu" \
            --annotation z=1 --annotation a=ü
    }
    digest=$(make one)
    [ "$(LC_ALL=C TZ=Asia/Tokyo make two)" = "$digest" ]
    [ "$(LC_ALL=C.UTF-8 TZ=America/Lima SOURCE_DATE_EPOCH=1 make three)" = "$digest" ]
    # nor in another order of what is said
    [ "$("$VARIANTCTL" index create --quiet oci:five:1 --annotation a=ü --annotation z=1 \
        "null=oci:$L:cpu" "v3=oci:$L:v3,x86_64 :: level :: v3")" = "$digest" ]
    (cd / && [ "$(make "$BATS_TEST_TMPDIR/four")" = "$digest" ])
    for line in two three four; do diff -r --exclude=.ocivariant one "$line"; done
    # a terminal changes nothing of what is written, and a report has no colours that pipes must strip
    "$VARIANTCTL" index show --format json oci:one:1 | jq 'del(.annotations)' >index.json
    "$VARIANTCTL" lint index.json >piped
    script -qec "'$VARIANTCTL' lint index.json" /dev/null </dev/null | tr -d '\r' >shown
    diff piped shown
}
