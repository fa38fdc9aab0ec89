# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Keys and signatures, made with openssl as cosign makes them.
#
#   make_keys NAME...                  $STATE/keys/NAME.key and NAME.pub (ECDSA P-256)
#   trust_config MORE GLOB RULE...     a configuration with these rules of trust; MORE: its other lines
#   sign_payload KEY REPO DIGEST [NAME]   cosign 1 and 2: a payload under the tag sha256-HEX.sig
#   sign_bundle KEY REPO DIGEST        cosign 3: a bundle that refers to it, under the tag sha256-HEX (or by
#                                      the registry's API, where it has one)
#   cosign_sign KEY IMAGE              the real one (OCV_COSIGN); CLASSIC=1: as cosign 2 did

make_keys()
{
    local name
    mkdir -p "$STATE/keys"
    chmod 755 "$STATE/keys"
    for name; do
        openssl ecparam -name prime256v1 -genkey -noout 2>/dev/null |
            openssl pkcs8 -topk8 -nocrypt -out "$STATE/keys/$name.key"
        openssl pkey -in "$STATE/keys/$name.key" -pubout -out "$STATE/keys/$name.pub"
        chmod 644 "$STATE/keys/$name.pub"
    done
}

# key_of NAME: its digest, as it is printed
key_of()
{
    echo "sha256:$(openssl pkey -pubin -in "$STATE/keys/$1.pub" -outform DER | sha256sum | cut -d ' ' -f 1)"
}

trust_config()
{
    local file=$STATE/trust.yaml
    printf '%s\n' "$1" >"$file"
    echo "trust:" >>"$file"
    shift
    while [ $# -gt 0 ]; do
        echo "  \"$1\": $2" >>"$file"
        shift 2
    done
}

# put_blob REPO FILE: its digest
put_blob()
{
    local digest place
    digest=sha256:$(sha256sum <"$2" | cut -d ' ' -f 1)
    place=$(curl -sf -X POST -D - -o /dev/null "http://$REGISTRY/v2/$1/blobs/uploads/" |
        tr -d '\r' | sed -n 's/^[Ll]ocation: //p')
    case $place in http*) ;; *) place=http://$REGISTRY$place ;; esac
    case $place in *\?*) place="$place&digest=$digest" ;; *) place="$place?digest=$digest" ;; esac
    curl -sf -X PUT -H 'Content-Type: application/octet-stream' --data-binary "@$2" "$place" >/dev/null
    echo "$digest"
}

# put_manifest REPO NAME TYPE FILE: NAME is a tag or a digest
put_manifest()
{
    curl -sf -X PUT -H "Content-Type: $3" --data-binary "@$4" "http://$REGISTRY/v2/$1/manifests/$2" >/dev/null
}

# descriptor TYPE FILE
descriptor()
{
    jq -nc --arg t "$1" --arg d "sha256:$(sha256sum <"$2" | cut -d ' ' -f 1)" --argjson n "$(stat -c %s "$2")" \
        '{mediaType: $t, digest: $d, size: $n}'
}

sign_payload()
{
    local t=$BATS_TEST_TMPDIR/signing signature
    mkdir -p "$t"
    printf '{"critical":{"identity":{"docker-reference":"%s"},"image":{"docker-manifest-digest":"%s"},"type":"cosign container image signature"},"optional":null}' \
        "${4:-$REGISTRY/$2}" "$3" >"$t/payload"
    printf '{}' >"$t/config"
    signature=$(openssl dgst -sha256 -sign "$STATE/keys/$1.key" "$t/payload" | base64 -w 0)
    put_blob "$2" "$t/payload" >/dev/null
    put_blob "$2" "$t/config" >/dev/null
    jq -nc --argjson c "$(descriptor application/vnd.oci.image.config.v1+json "$t/config")" \
        --argjson l "$(descriptor application/vnd.dev.cosign.simplesigning.v1+json "$t/payload")" --arg s "$signature" \
        '{schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", config: $c,
          layers: [$l + {annotations: {"dev.cosignproject.cosign/signature": $s}}]}' >"$t/manifest"
    put_manifest "$2" "${3/:/-}.sig" application/vnd.oci.image.manifest.v1+json "$t/manifest"
}

BUNDLE_TYPE=application/vnd.dev.sigstore.bundle.v0.3+json

# make_bundle KEY DIGEST: the bundle
make_bundle()
{
    local t=$BATS_TEST_TMPDIR/signing
    mkdir -p "$t"
    printf '{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"%s"}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}' \
        "${2#sha256:}" >"$t/statement"
    { printf 'DSSEv1 28 application/vnd.in-toto+json %d ' "$(stat -c %s "$t/statement")"; cat "$t/statement"; } >"$t/pae"
    jq -nc --arg t "$BUNDLE_TYPE" --arg p "$(base64 -w 0 <"$t/statement")" \
        --arg s "$(openssl dgst -sha256 -sign "$STATE/keys/$1.key" "$t/pae" | base64 -w 0)" \
        '{mediaType: $t, verificationMaterial: {publicKey: {hint: "test"}, tlogEntries: []},
          dsseEnvelope: {payload: $p, payloadType: "application/vnd.in-toto+json", signatures: [{sig: $s, keyid: ""}]}}'
}

# attach_bundle REPO DIGEST FILE: as a referrer
attach_bundle()
{
    local t=$BATS_TEST_TMPDIR/signing type=application/vnd.oci.image.manifest.v1+json digest subject
    mkdir -p "$t"
    printf '{}' >"$t/empty"
    put_blob "$1" "$3" >/dev/null
    put_blob "$1" "$t/empty" >/dev/null
    subject=$(curl -sf -H 'Accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json' "http://$REGISTRY/v2/$1/manifests/$2" >"$t/subject" && descriptor application/vnd.oci.image.index.v1+json "$t/subject")
    jq -nc --argjson c "$(descriptor application/vnd.oci.empty.v1+json "$t/empty")" --argjson s "$subject" \
        --argjson l "$(descriptor "$BUNDLE_TYPE" "$3")" --arg t "$BUNDLE_TYPE" \
        '{schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", artifactType: $t, config: $c, layers: [$l], subject: $s}' >"$t/manifest"
    digest=sha256:$(sha256sum <"$t/manifest" | cut -d ' ' -f 1)
    put_manifest "$1" "$digest" "$type" "$t/manifest"
    [ "$(curl -s -o /dev/null -w '%{http_code}' "http://$REGISTRY/v2/$1/referrers/$2")" != 200 ] || return 0
    # the list that clients keep where a registry has no such API
    curl -sf -H 'Accept: application/vnd.oci.image.index.v1+json' "http://$REGISTRY/v2/$1/manifests/${2/:/-}" >"$t/list" ||
        echo '{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []}' >"$t/list"
    jq -c --argjson d "$(descriptor $type "$t/manifest")" --arg t "$BUNDLE_TYPE" \
        '.manifests += [$d + {artifactType: $t}]' "$t/list" >"$t/more"
    put_manifest "$1" "${2/:/-}" application/vnd.oci.image.index.v1+json "$t/more"
}

sign_bundle()
{
    mkdir -p "$BATS_TEST_TMPDIR/signing"
    make_bundle "$1" "$3" >"$BATS_TEST_TMPDIR/signing/bundle"
    attach_bundle "$2" "$3" "$BATS_TEST_TMPDIR/signing/bundle"
}

# cosign_sign KEY IMAGE [OPTION...]
cosign_sign()
{
    local key=$1 image=$2
    shift 2
    COSIGN_PASSWORD='' "$OCV_COSIGN" sign --yes --key "$STATE/keys/$key.key" --allow-http-registry "$@" "$image"
}
