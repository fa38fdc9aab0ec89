# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# The container image and its manifests in tests (`load kube` after harness).
#
#   image_here          builds $OCV_BUILD/image (contrib/image.sh) where it is missing or older than the
#                       programs; sets IMAGE_LAYOUT=oci:DIR:TAG. Skips without root or the tools
#   helm_here           skips without helm: this machine's, or OCV_HELM; `chart VERB ARGUMENT...` is helm
#   image_blob DIGEST   the file of a blob of it
#   image_manifest      its manifest, as JSON
#   manifest CHOOSE [IMAGE]   contrib/kubernetes/variantd.yaml as $MANIFEST, with $REGISTRY for its registry,
#                       for a node that has level v3 whatever runs the test

image_stale()
{
    local index=$OCV_BUILD/image/index.json
    [ ! -e "$index" ] || [ -n "$(find "$OCV_BUILD"/{variantd,variantctl,libexec} "$OCV_BUILD"/lib*.so.*.* "$OCV_TOP"/contrib/{image,deb}.sh \
        "$OCV_TOP"/contrib/debian -type f -newer "$index" -print -quit)" ]
}

image_here()
{
    local version
    version=$(<"$OCV_TOP/VERSION")
    [ "$(id -u)" = 0 ] || skip "only root can give files capabilities"
    require dh dpkg-buildpackage buildah setcap jq || return 1
    (
        flock 9
        ! image_stale || { "$OCV_TOP/contrib/deb.sh" && "$OCV_TOP/contrib/image.sh"; } >"$STATE/log/image" 2>&1 3>&-
    ) 9>"$OCV_BUILD/image.lock" || { cat "$STATE/log/image"; return 1; }
    export IMAGE_LAYOUT=oci:$OCV_BUILD/image:$version
}

helm_here()
{
    export HELM=${OCV_HELM:-helm}
    command -v "$HELM" >/dev/null || skip "no helm: not installed, and OCV_HELM names none"
}

chart()
{
    # shellcheck disable=SC2086 # a command with arguments, within a namespace
    $HELM "$@"
}

image_blob()
{
    echo "$OCV_BUILD/image/blobs/sha256/${1#sha256:}"
}

image_manifest()
{
    cat "$(image_blob "$(jq -r '.manifests[0].digest' "$OCV_BUILD/image/index.json")")"
}

manifest()
{
    python3 - "$OCV_TOP/contrib/kubernetes/variantd.yaml" "$REGISTRY" "$@" >"$MANIFEST" <<'PY'
import hashlib, sys, yaml
objects = [o for o in yaml.safe_load_all(open(sys.argv[1])) if o]
for o in objects:
    if o["kind"] == "ConfigMap":
        config = yaml.safe_load(o["data"]["config.yaml"])
        assert config["choose"] == "shadow"
        config.update(choose=sys.argv[3], registries={sys.argv[2]: {"url": "http://" + sys.argv[2]}},
                      override={"x86_64": {"level": ["v3", "v2", "v1"]}})
        o["data"]["config.yaml"] = yaml.safe_dump(config)
        digest = hashlib.sha256(o["data"]["config.yaml"].encode()).hexdigest()
    elif o["kind"] == "DaemonSet":
        template = o["spec"]["template"]
        template["metadata"]["annotations"]["ocivariant.dev/config"] = digest
        for container in template["spec"]["initContainers"] + template["spec"]["containers"]:
            container["image"] = sys.argv[4] if len(sys.argv) > 4 else container["image"]
print(yaml.safe_dump_all(objects))
PY
}
