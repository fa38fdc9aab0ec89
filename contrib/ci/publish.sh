#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# One Dockerfile, one build, one index: build with buildah for every platform, publish the index, check
# it, sign it where cosign is. Prints REPO@DIGEST of what was published.
#
#   IMAGE       REPO:TAG to publish
#   PLATFORMS   of the build: linux/amd64,linux/arm64,linux/amd64/x-cuda12-8 (x-LABEL: the label's dots
#               are dashes; the Dockerfile sees it as TARGETVARIANT)
#   SOURCE      what each label needs (app.yaml), with `image: oci:images:app`
#   CONTEXT     of the build (.)
set -euo pipefail

: "${IMAGE:?is REPO:TAG}" "${PLATFORMS:?are those of the build}"
source=${SOURCE:-app.yaml}
list=ocivariant-build

if [ -e images ] && ! [ -f images/oci-layout ]; then
    echo "publish.sh: images is not an OCI layout, and the build writes its own there: run this elsewhere" >&2
    exit 1
fi
variantctl lint "$source" >&2
buildah manifest rm "$list" >/dev/null 2>&1 || true # from an earlier run
buildah build --manifest "$list" --platform "$PLATFORMS" "${CONTEXT:-.}" >&2
rm -rf images
buildah manifest push --all "$list" oci:images:app >&2
digest=$(variantctl index create --quiet --from "$source" "$IMAGE")
variantctl lint "$IMAGE" >&2
if command -v cosign >/dev/null; then
    cosign sign --yes --recursive "${IMAGE%:*}@$digest" >&2
else
    echo "no cosign here: ${IMAGE%:*}@$digest is not signed" >&2
fi
echo "${IMAGE%:*}@$digest"
