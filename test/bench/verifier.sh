# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# What containerd waits for before it fetches an image: `verifier`, called by run.sh, whose variables
# and functions it uses.
# shellcheck disable=SC2154

# verify_image POLICY DIGEST: runs the command the way containerd does
verify_image()
{
    echo "env OCIVARIANT_CONFIG=$STATE/verifier-$1.yaml $installed/libexec/ocivariant/ocivariant-verifier" \
        "-name $REGISTRY/bench/verifier@$2 -digest $2" \
        "-stdin-media-type application/vnd.oci.descriptor.v1+json"
}

verifier()
{
    local socket=$STATE/verifier.sock policy fits misfit
    {
        mkimage "$STATE/verifier" fits --file etc/build=fits
        mkimage "$STATE/verifier" misfit --file etc/build=misfit
        "$VARIANTCTL" index create --quiet --namespaces benchgpu "oci:$STATE/verifier:index" \
            "null=oci:$STATE/verifier:fits" "misfit=oci:$STATE/verifier:misfit,benchgpu :: none :: 1"
    } >>"$STATE/log/mkimage" 2>&1
    push_layout "$STATE/verifier:index" "$REGISTRY/bench/verifier:1"
    start_daemon verifier env STATE_DIRECTORY="$STATE/verifier-node" "$installed/bin/variantd" --listen 127.0.0.1:0 \
        --socket "$socket" --registry "$REGISTRY=http://$REGISTRY" --profile "$STATE/profile.json" --access-log off
    await verifier test -S "$socket"
    OCV_STATE_DIR=$STATE/verifier-node "$VPULL" --quiet --profile "$STATE/profile.json" \
        --to "oci:$STATE/verifier-pulled" "$REGISTRY/bench/verifier:1" >/dev/null
    for policy in enforce warn; do
        printf 'policy: %s\nfail: closed\nsocket: %s\n' "$policy" "$socket" >"$STATE/verifier-$policy.yaml"
    done
    fits=$(digest_in fits)
    misfit=$(digest_in misfit)
    alternate "$rounds_small" nothing \
        verifier-fits "$(verify_image enforce "$fits")" \
        verifier-warns "$(verify_image warn "$misfit")" \
        true-verifier "env A=b /bin/true"
    echo "## Image verifier, the verdict of a running variantd, whole process"
    echo
    echo "Asked: under 5 ms. An image pinned by its digest, of an index that was resolved on this node."
    echo
    rows verifier-fits verifier-warns true-verifier
    echo
    stop_daemon verifier
}

# digest_in TAG: digest of the layout's image with that tag
digest_in()
{
    jq -r --arg name "$1" '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $name) | .digest' \
        "$STATE/verifier/index.json"
}
