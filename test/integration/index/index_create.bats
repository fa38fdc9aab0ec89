#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl index create over images of platforms that are not linux/amd64.

load ../harness

setup_file()
{
    state_start
    export L=$STATE/images
    mkimage "$L" cpu
    mkimage "$L" armv6 --arch arm --variant v6
    mkimage "$L" armv7 --arch arm --variant v7
    mkimage "$L" windows --os windows
    edit_config windows '.["os.version"] = "10.0.20348.2700" | .["os.features"] = ["win32k"]'
}

blob()
{
    echo "$L/blobs/sha256/${1#sha256:}"
}

digest_of_tag()
{
    jq -r --arg tag "$1" '.manifests[] |
        select(.annotations["org.opencontainers.image.ref.name"] == $tag).digest' "$L/index.json"
}

# put JSON: as a blob; prints digest and size
put()
{
    local digest
    digest=$(printf %s "$1" | sha256sum | cut -d' ' -f1)
    printf %s "$1" >"$L/blobs/sha256/$digest"
    echo "sha256:$digest" "${#1}"
}

# edit_config TAG FILTER: the tag then names the image with the other config
edit_config()
{
    local manifest digest size
    manifest=$(blob "$(digest_of_tag "$1")")
    read -r digest size < <(put "$(jq -c "$2" "$(blob "$(jq -r .config.digest "$manifest")")")")
    read -r digest size < <(put "$(jq -c --arg digest "$digest" --argjson size "$size" \
        '.config.digest = $digest | .config.size = $size' "$manifest")")
    retag "$1" "$digest" "$size"
}

# retag TAG DIGEST SIZE
retag()
{
    jq -c --arg tag "$1" --arg digest "$2" --argjson size "$3" '(.manifests[] |
        select(.annotations["org.opencontainers.image.ref.name"] == $tag)) |=
        (.digest = $digest | .size = $size)' "$L/index.json" >"$STATE/index.json"
    mv "$STATE/index.json" "$L/index.json"
}

@test "a Windows entry keeps its version and features" {
    run -0 "$VARIANTCTL" index create --quiet "oci:$L:mixed" "null=oci:$L:cpu" "null=oci:$L:windows"
    run -0 "$VARIANTCTL" index show --format json "oci:$L:mixed"
    [ "$(jq -c '[.manifests[].platform]' <<<"$output")" = '[{"architecture":"amd64","os":"linux"},{"architecture":"amd64","os":"windows","os.features":["win32k"],"os.version":"10.0.20348.2700"}]' ]
    run -0 --separate-stderr "$VARIANTCTL" resolve --platform linux/amd64 "oci:$L:mixed"
    [ "$(jq -r .selected.platform.os <<<"$output")" = linux ]
}

@test "defaults for several arm variants stand side by side, the best first" {
    run -0 "$VARIANTCTL" index create --quiet "oci:$L:arm" --default "oci:$L:armv6" --default "oci:$L:armv7"
    run -0 "$VARIANTCTL" index show --format json "oci:$L:arm"
    [ "$(jq -r '[.manifests[].platform.variant] | join(" ")' <<<"$output")" = "v7 v6" ]
    [ "$(jq '[.manifests[] | select(.annotations)] | length' <<<"$output")" = 0 ]
}

@test "null for several arm variants is a default for each, whatever the order" {
    local a b
    a=$("$VARIANTCTL" index create --quiet "oci:$L:arm" "null=oci:$L:armv7" "null=oci:$L:armv6")
    b=$("$VARIANTCTL" index create --quiet "oci:$L:arm" "null=oci:$L:armv6" "null=oci:$L:armv7")
    [ "$a" = "$b" ]
    run -0 "$VARIANTCTL" index show --format json "oci:$L:arm"
    [ "$(jq -c '[.manifests[] | [.platform.variant, .annotations["dev.ocivariant.label"]]]' <<<"$output")" = '[["v7",null],["v6",null]]' ]
    echo '{"schema":"dev.ocivariant.profile/v1","platform":{"os":"linux","architecture":"arm","variant":"v6"},"namespaces":[]}' >"$STATE/v6.json"
    run -0 "$VARIANTCTL" resolve --profile "$STATE/v6.json" "oci:$L:arm"
    [ "$(jq -r .selected.platform.variant <<<"$output")" = v6 ]
}

@test "defaults for two versions of Windows stand side by side" {
    mkimage "$L" older --os windows
    edit_config older '.["os.version"] = "10.0.17763.6532"'
    run -0 "$VARIANTCTL" index create --quiet "oci:$L:win" --default "oci:$L:windows" --default "oci:$L:older"
    run -0 "$VARIANTCTL" index show --format json "oci:$L:win"
    [ "$(jq -c '[.manifests[].platform["os.version"]]' <<<"$output")" = '["10.0.20348.2700","10.0.17763.6532"]' ]
}

@test "a configuration of more values than an index may have never becomes a tree" {
    mkimage "$L" vast
    edit_config vast '.history = [range(100000) | {}]'
    for option in --quiet --relabel; do
        run -4 "$VARIANTCTL" index create "$option" "oci:$L:much" "null=oci:$L:cpu" "a=oci:$L:vast,x86_64 :: level :: v3"
        [[ $output == *": a: "*"the image config "*"more than 262144 values" ]]
    done
}

@test "two ordinary images of one platform are refused by what they are" {
    mkimage "$L" another7 --arch arm --variant v7 --file x=y
    run -4 "$VARIANTCTL" index create "oci:$L:twice" --default "oci:$L:armv7" --default "oci:$L:another7"
    [ "${lines[0]}" = "variantctl: --default: the second default for linux/arm/v7" ]
    run -4 "$VARIANTCTL" index create "oci:$L:twice" "null=oci:$L:armv7" "null=oci:$L:another7"
    [ "${lines[0]}" = "variantctl: null: the second default for linux/arm/v7" ]
    run -2 "$VARIANTCTL" index create "oci:$L:twice" "null=oci:$L:armv7" --default "oci:$L:another7"
    [ "${lines[0]}" = "variantctl: null: the second default for linux/arm/v7: null= and --default are the same" ]
    run ! "$VARIANTCTL" index show "oci:$L:twice"
}

@test "what is meant can be narrowed to a platform, and to the ordinary images" {
    "$VARIANTCTL" index create --quiet "oci:$L:narrow" --default "oci:$L:windows" "null=oci:$L:cpu" "null=oci:$L:armv7" \
        "a=oci:$L:cpu,acme :: chip :: a1" "a=oci:$L:armv7,acme :: chip :: a1"
    entries()
    {
        "$VARIANTCTL" index show --format json "oci:$L:narrow" |
            jq -r '[.manifests[] | .platform.architecture + "/" + (.annotations["dev.ocivariant.label"] // "-")] | join(" ")'
    }
    [ "$(entries)" = "amd64/- arm/- amd64/- amd64/a arm/a" ]
    run -0 "$VARIANTCTL" index annotate --quiet --platform linux/arm "oci:$L:narrow" --label a=b
    [ "$(entries)" = "amd64/- arm/- amd64/- amd64/a arm/b" ]
    run -4 "$VARIANTCTL" index annotate --platform linux/arm "oci:$L:narrow" --label b=null
    run -0 "$VARIANTCTL" index remove --quiet --no-lint --platform linux/arm "oci:$L:narrow" null
    [ "$(entries)" = "amd64/- amd64/- amd64/a arm/b" ]
    run -1 "$VARIANTCTL" index remove --platform linux/arm "oci:$L:narrow" null
    run -0 "$VARIANTCTL" index remove --quiet --no-lint --default "oci:$L:narrow"
    [ "$(entries)" = "amd64/a arm/b" ]
}

@test "--relabel marks the top layer alone, and leaves no copy of the old configuration" {
    local digest size child config
    mkimage "$L" two --file etc/a=b --layer 1000
    read -r digest size < <(put "$(jq -c '.config.data = "e30="' "$(blob "$(digest_of_tag two)")")")
    retag two "$digest" "$size"
    run -0 "$VARIANTCTL" index create --quiet --relabel "oci:$L:relabelled" "null=oci:$L:cpu" "a=oci:$L:two,acme :: chip :: a1"
    child=$("$VARIANTCTL" index show --format json "oci:$L:relabelled" | jq -r '.manifests[1].digest')
    child=$(blob "$child")
    [ "$(jq -c '[.layers[].annotations["containerd.io/snapshot/dev.ocivariant.label"]]' "$child")" = '[null,"a"]' ]
    [ "$(jq -c '.config | has("data")' "$child")" = false ]
    config=$(blob "$(jq -r .config.digest "$child")")
    [ "$(jq -r '.config.Labels["dev.ocivariant.label"]' "$config")" = a ]
    [ "$(jq .config.size "$child")" = "$(stat -c %s "$config")" ]
}

@test "--relabel leaves out of Docker's manifests what they do not know" {
    local child
    mkimage "$L" classic --docker --file etc/a=c
    run -0 "$VARIANTCTL" index create --quiet --relabel "oci:$L:classic-index" "null=oci:$L:cpu" "a=oci:$L:classic,acme :: chip :: a1"
    child=$(blob "$("$VARIANTCTL" index show --format json "oci:$L:classic-index" | jq -r '.manifests[1].digest')")
    [ "$(jq -r .mediaType "$child")" = application/vnd.docker.distribution.manifest.v2+json ]
    [ "$(jq -c '[.layers[] | has("annotations")] | any' "$child")" = false ]
    [ "$(jq -r '.config.Labels["dev.ocivariant.label"]' "$(blob "$(jq -r .config.digest "$child")")")" = a ]
}
