# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# The index that most tests pull from.

# profiles of common machines, and three of them as a fleet
export PROFILES=$OCV_TOP/plugins/profiles FLEET_DIR=$OCV_TOP/test/data/fleet

# make_variants LAYOUT: images null (amd64, arm64), cpu.v3, cuda12.8, rocm7.1 and their index `app`
make_variants()
{
    local layout=$1
    export VARIANTS=$layout
    mkimage "$layout" cpu --file etc/build=cpu --label build=cpu
    mkimage "$layout" arm --arch arm64 --file etc/build=arm --label build=arm
    mkimage "$layout" v3 --file etc/build=v3 --label build=v3
    mkimage "$layout" cuda --file etc/build=cuda --layer 300000 --label build=cuda
    mkimage "$layout" rocm --file etc/build=rocm --layer 400000 --label build=rocm
    "$VARIANTCTL" index create --quiet "oci:$layout:app" --namespaces 'nvidia, amd, x86_64' \
        "null=oci:$layout:cpu" "null=oci:$layout:arm" \
        "cpu.v3=oci:$layout:v3,x86_64 :: level :: v3" \
        "cuda12.8=oci:$layout:cuda,nvidia :: cuda_version_lower_bound :: 12.8,nvidia :: sm_arch :: 90_real" \
        "rocm7.1=oci:$layout:rocm,amd :: gfx_arch :: gfx942" >/dev/null 3>&-
}

# start_publisher TAG...: a registry $R with these builds of make_variants as app:1.0-TAG
start_publisher()
{
    local tag
    require docker-registry skopeo
    state_start
    start_registry
    export OCV_DATADIR=$OCV_TOP/plugins R=$REGISTRY
    make_variants "$STATE/images"
    for tag; do push_layout "$VARIANTS:$tag" "$R/app:1.0-$tag"; done
}

# empty_checkout: the test runs in a directory without lint settings
empty_checkout()
{
    cd "$BATS_TEST_TMPDIR" || return 1
    : >.git # settings are looked for up to here
}

# digest_of LABEL: of the child in the index `app`; null: the default for amd64
digest_of()
{
    "$VARIANTCTL" index show --format json "oci:$VARIANTS:app" |
        jq -r --arg name "$1" \
            'first(.manifests[] | select((.annotations["dev.ocivariant.label"] // "null") == $name)) | .digest'
}

# make_programs LAYOUT: five variants that print "this is LABEL" when they run, their index `app`,
# and `pause` for the pods of a CRI runtime
make_programs()
{
    local layout=$1 label program=$OCV_BUILD/test/tools/saybuild
    export VARIANTS=$layout
    for label in null cpu.v3 cuda12.6 cuda12.8 rocm7.1; do
        mkimage "$layout" "$label" --binary "say=$program" --cmd /say --file "etc/build=$label" \
            --label "build=$label" --layer 200000 --seed ${#label} >/dev/null
    done
    mkimage "$layout" pause --binary "pause=$program" --cmd /pause --cmd pause >/dev/null
    "$VARIANTCTL" index create --quiet "oci:$layout:app" --namespaces 'nvidia, amd, x86_64' \
        "null=oci:$layout:null" \
        "cpu.v3=oci:$layout:cpu.v3,x86_64 :: level :: v3" \
        "cuda12.6=oci:$layout:cuda12.6,nvidia :: cuda_version_lower_bound :: 12.6,nvidia :: sm_arch :: 90_real" \
        "cuda12.8=oci:$layout:cuda12.8,nvidia :: cuda_version_lower_bound :: 12.8,nvidia :: sm_arch :: 90_real" \
        "rocm7.1=oci:$layout:rocm7.1,amd :: gfx_arch :: gfx942" >/dev/null 3>&-
}

# index_digest: of `app`
index_digest()
{
    "$VARIANTCTL" resolve --format json --profile "$PROFILES/laptop.json" "oci:$VARIANTS:app" | jq -r .index
}

# stored_for LABEL: the digest that a runtime keeps for a tag when it got that variant of `app`: the
# default comes by the index
stored_for()
{
    if [ "$1" = null ]; then index_digest; else digest_of "$1"; fi
}

# config_of LABEL: the digest of that variant's configuration
config_of()
{
    local digest
    digest=$(digest_of "$1")
    jq -r .config.digest "$VARIANTS/blobs/sha256/${digest#sha256:}"
}

# make_wide LAYOUT: after make_programs: an index `wide` of null for two architectures and cuda12.8, so
# that --platform has something to ask for
make_wide()
{
    mkimage "$1" arm --arch arm64 --file etc/build=arm >/dev/null
    "$VARIANTCTL" index create --quiet "oci:$1:wide" "null=oci:$1:null" "null=oci:$1:arm" \
        "cuda12.8=oci:$1:cuda12.8,nvidia :: sm_arch :: 90_real" >/dev/null 3>&-
}

# make_levels LAYOUT [TAG]: an ordinary index, $STATE/levels.json, of TAG (null) for every amd64 and of
# `level.v3` for amd64/v3
make_levels()
{
    mkimage "$1" level.v3 --variant v3 --binary "say=$OCV_BUILD/test/tools/saybuild" --cmd /say \
        --file etc/build=level.v3 >/dev/null
    jq '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
        manifests: [["level.v3", "v3"], [$base, null]] | map(. as [$tag, $level] |
            first($all[] | select(.annotations["org.opencontainers.image.ref.name"] == $tag)) |
            {mediaType, digest, size, platform: ({os: "linux", architecture: "amd64", variant: $level} |
                with_entries(select(.value)))})}' \
        --arg base "${2:-null}" --argjson all "$(jq .manifests "$1/index.json")" --null-input >"$STATE/levels.json"
}

# wanted PROFILE: the label that its machine gets of `app`
wanted()
{
    case $1 in
    h100) echo cuda12.8 ;;
    mi300x) echo rocm7.1 ;;
    laptop) echo cpu.v3 ;;
    esac
}
