# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Images that are found by their tags (`load tags` after harness).
#
#   start_named_registries        a registry that docker.io, ghcr.io and quay.io are pointed to, in $CONFIG; $DATA has
#                                 the tag rules
#   profile NAME SMS MAJOR MINOR  $STATE/NAME.json: a host with these architectures, and a driver for CUDA up to
#                                 MAJOR.MINOR
#   digest_of REPOSITORY:TAG      as the registry has it

start_named_registries()
{
    local name
    start_registry
    DATA=$STATE/share
    mkdir -p "$DATA"
    ln -s "$OCV_TOP/plugins/tags.d" "$DATA/tags.d"
    CONFIG=$STATE/config.yaml
    printf 'registries:\n' >"$CONFIG"
    for name in docker.io ghcr.io quay.io; do
        printf '  %s: {url: "http://%s"}\n' "$name" "$REGISTRY" >>"$CONFIG"
    done
}

profile()
{
    jq -n --argjson sm "[$2]" --argjson major "$3" --argjson minor "$4" '
        def down(a; b): [range(a; b; -1)];
        {schema: "dev.ocivariant.profile/v1", platform: {os: "linux", architecture: "amd64"},
         namespaces: [{namespace: "nvidia", features: [
           {name: "cuda_version_lower_bound",
            values: ([down($minor; -1)[] | "\($major).\(.)"] +
                     (if $major == 13 then [down(9; -1)[] | "12.\(.)"] else [] end))},
           {name: "sm_arch", values: $sm},
           {name: "forward_compatibility",
            values: [[580, 575, 570, 560, 555, 550, 545, 535, 530, 525, 520] as $branches |
                     {"13.0": 0, "12.9": 1, "12.8": 2, "12.6": 3, "12.4": 5}["\($major).\($minor)"] // 10 |
                     $branches[.:][] | tostring]}]}]}' >"$STATE/$1.json"
}

digest_of()
{
    skopeo --insecure-policy inspect --tls-verify=false --format '{{.Digest}}' "docker://$REGISTRY/$1" 3>&-
}
