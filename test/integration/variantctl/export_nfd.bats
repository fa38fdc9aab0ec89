#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl export nfd: read as node-feature-discovery reads it (v0.19, source/local), no line is lost, and
# what becomes a label is one that Kubernetes takes.

load ../harness
load ../images

setup_file()
{
    state_start
    mkdir -p "$STATE/nodes"/{gang,labelled} "$STATE/features.d"
    python3 "$OCV_TOP/test/integration/claim_nodes.py" "$STATE/nodes"
}

load_images() { [ -d "$STATE/images" ] || make_variants "$STATE/images"; }

# labels and features as JSON; fails where a line is neither a directive nor one of them
nfd_reads() # FILE
{
    python3 - "$1" <<'PY'
import datetime, json, os, re, sys
assert os.path.getsize(sys.argv[1]) <= 65536
now, expiry, label, labels, features, wanted = datetime.datetime.now(datetime.timezone.utc), None, True, {}, {}, 0
for line in open(sys.argv[1]):
    line = line.strip()
    if line.startswith("# +"):
        key, _, value = line[3:].partition("=")
        assert key in ("expiry-time", "no-label"), line
        if key == "expiry-time":
            expiry = datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
        label = label and key != "no-label"
        continue
    key, equals, value = line.partition("=")
    assert key.startswith("dev.ocivariant/") and equals, line
    wanted += 1
    if expiry is None or expiry > now:
        features[key] = value
        if label:
            assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", key.split("/")[1]), line
            assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", value), line
            labels[key] = value
    label = True
assert expiry is None or len(features) == wanted, "lost lines"
json.dump({"labels": labels, "features": features, "expires": expiry and (expiry - now).total_seconds()}, sys.stdout)
PY
}

@test "one label, the class; a feature for each property" {
    local kind class
    for kind in h100 a100 mi300 atom vfio; do
        run -0 variantctl export nfd --profile "$STATE/nodes/$kind.json" -o "$STATE/features.d/ocivariant"
        [ -z "$output" ]
        nfd_reads "$STATE/features.d/ocivariant" >"$STATE/read.json"
        class=$(variantctl fleet pack "$STATE/nodes/$kind.json" | jq -r 'select(.name) | .class')
        [ "$(jq -c .labels "$STATE/read.json")" = "{\"dev.ocivariant/class\":\"$class\"}" ]
        diff <(jq -r '.features | keys[]' "$STATE/read.json" | sort) \
            <(jq -r '"dev.ocivariant/class", (.namespaces[] | .namespace as $ns | .features[] | .name as $f | .values[] | "dev.ocivariant/\($ns).\($f).\(.)")' \
                "$STATE/nodes/$kind.json" | sort)
    done
}

@test "a device that does not count takes no property away, and one may list what its namespace does not" {
    jq '.namespaces |= map(if .namespace != "nvidia" then . else .devices = [
            {id: "0000:01:00.0", features: (.features + [{name: "only", values: ["here"]}])},
            {id: "0000:02:00.0", secondary: true, features: [{name: "sm_arch", values: ["50_real"]}]}] end)' \
        "$STATE/nodes/h100.json" >"$STATE/two.json"
    variantctl export nfd --profile "$STATE/two.json" -o "$STATE/features.d/ocivariant"
    nfd_reads "$STATE/features.d/ocivariant" | jq -r '.features | keys[]' | grep -v /class >"$STATE/two"
    grep -x dev.ocivariant/nvidia.sm_arch.90_real "$STATE/two"
    grep -x dev.ocivariant/nvidia.only.here "$STATE/two"
    # as Slurm is told
    diff "$STATE/two" <(variantctl export slurm --profile "$STATE/two.json" --features | tr , '\n' |
        sed 's|^|dev.ocivariant/|; s/::/./g' | LC_ALL=C sort)
}

@test "--expires 1h sets an expiry, 0 none" {
    variantctl export nfd --profile "$STATE/nodes/h100.json" --expires 1h -o "$STATE/features.d/ocivariant"
    nfd_reads "$STATE/features.d/ocivariant" | jq -e '.expires > 3500 and .expires <= 3600'
    variantctl export nfd --profile "$STATE/nodes/h100.json" --expires 0 -o "$STATE/features.d/ocivariant"
    nfd_reads "$STATE/features.d/ocivariant" | jq -e '.expires == null and (.features | length) > 50'
    run --separate-stderr -2 variantctl export nfd --expires soon
    [[ $stderr == *"--expires"* ]]
}

@test "the file appears by rename, and no other name that NFD would read" {
    require strace
    printf old >"$STATE/features.d/ocivariant"
    strace -f -e trace=openat,rename,renameat,renameat2 -o "$STATE/calls" \
        "$VARIANTCTL" export nfd --profile "$STATE/nodes/h100.json" -o "$STATE/features.d/ocivariant"
    run -0 grep O_CREAT "$STATE/calls"
    [[ $output == *'".tmp-'* ]]
    [[ $output != *'"'[!.]*'"'*ocivariant* ]]
    grep -E 'rename.*"\.tmp-.*"ocivariant"' "$STATE/calls"
    [ "$(ls -A "$STATE/features.d")" = ocivariant ]
}

@test "output above the 65,536 bytes that NFD reads is not written" {
    jq '.namespaces[0].features[0].values = [range(2000) | "\(.).\(.)"]' "$STATE/nodes/h100.json" >"$STATE/large.json"
    run --separate-stderr -4 variantctl export nfd --profile "$STATE/large.json" -o "$STATE/features.d/large"
    [[ $stderr == *65536* ]]
    [ ! -e "$STATE/features.d/large" ]
}

# the tags of a specification all of whose rules a node's features meet, as `nfd compat validate-node` reads them
compatible() # SPEC FEATURES-FILE
{
    python3 - "$1" <(nfd_reads "$2") <<'PY'
import json, sys, yaml
spec, features = yaml.safe_load(open(sys.argv[1])), json.load(open(sys.argv[2]))["features"]
assert spec["version"] == "v1alpha1" and set(spec) == {"version", "compatibilities"}
def matches(terms):
    return all(term["feature"] == "local.feature" and all(set(e) == {"op"} and e["op"] == "IsTrue" and features.get(key) == "true"
        for key, e in term["matchExpressions"].items()) for term in terms)
def holds(rule):
    assert set(rule) <= {"name", "matchFeatures", "matchAny"} and rule["name"]
    return matches(rule.get("matchFeatures", [])) and ("matchAny" not in rule or any(matches(m["matchFeatures"]) for m in rule["matchAny"]))
print(" ".join(sorted(c["tag"] for c in spec["compatibilities"] if all(holds(r) for r in c["rules"]))))
PY
}

@test "--compatibility: a node's features meet the rules of the variants that fit it, and of no others" {
    python3 -c 'import yaml' || skip "no python3-yaml"
    load_images
    "$VARIANTCTL" index create --quiet --no-lint "oci:$STATE/images:many" --namespaces 'nvidia, amd, x86_64' "null=oci:$STATE/images:cpu" \
        "v3=oci:$STATE/images:v3,x86_64 :: level :: v3" \
        "cu12=oci:$STATE/images:cuda,nvidia :: cuda_version_lower_bound :: 12.4,nvidia :: sm_arch :: 80_real,nvidia :: sm_arch :: 90_real" \
        "both=oci:$STATE/images:rocm,amd :: gfx_arch :: gfx90a,amd :: gfx_arch :: gfx942,x86_64 :: level :: v3" 2>/dev/null
    variantctl export nfd --compatibility "oci:$STATE/images:many" -o "$BATS_TEST_TMPDIR/spec.yaml"
    local file fits seen=0
    for file in "$STATE"/nodes/*.json; do
        jq -e .namespaces "$file" >/dev/null 2>&1 || continue
        variantctl export nfd --profile "$file" -o "$BATS_TEST_TMPDIR/features"
        fits=$("$VARIANTCTL" coverage --profiles "$file" --format json "oci:$STATE/images:many" |
            jq -r '[.variants[] | select(.kind == "variant" and (.fits | length > 0)) | .label] | sort | join(" ")')
        [ "$(compatible "$BATS_TEST_TMPDIR/spec.yaml" "$BATS_TEST_TMPDIR/features")" = "$fits" ] || { echo "$file: $fits"; false; }
        seen=$((seen + 1))
    done
    [ "$seen" -ge 5 ]
    run -4 variantctl export nfd --compatibility "oci:$STATE/images:cpu"
    [[ $output == *"has no variants: there is nothing to write" ]]
    run -2 variantctl export nfd --attach
}

@test "--attach: each variant gets its own, which a registry lists" {
    load_images
    require docker-registry skopeo curl
    start_registry
    push_layout "$STATE/images:app" "$REGISTRY/app:1"
    run -0 variantctl export nfd --insecure "$REGISTRY" --compatibility "$REGISTRY/app:1" --attach
    [ "${#lines[@]}" = 3 ]
    child=$(awk '$1 == "cuda12.8" { print $2 }' <<<"$output")
    artifact=$(awk '$1 == "cuda12.8" { print $4 }' <<<"$output")
    # distribution 2.8 has no referrers API: by the tag that stands for it
    curl -sf "http://$REGISTRY/v2/app/manifests/${child/:/-}" -H 'Accept: application/vnd.oci.image.index.v1+json' |
        jq -e --arg d "$artifact" '.manifests[] | select(.digest == $d).artifactType == "application/vnd.nfd.image-compatibility.v1alpha1"'
    manifest=$(curl -sf "http://$REGISTRY/v2/app/manifests/$artifact" -H 'Accept: application/vnd.oci.image.manifest.v1+json')
    [ "$(jq -r '.subject.digest' <<<"$manifest")" = "$child" ]
    [ "$(jq -r '.layers[0].mediaType' <<<"$manifest")" = application/vnd.nfd.image-compatibility.spec.v1alpha1+yaml ]
    curl -sf "http://$REGISTRY/v2/app/blobs/$(jq -r '.layers[0].digest' <<<"$manifest")" | grep -qx -- '- tag: "cuda12.8"'
    # again: the same artifact
    run -0 variantctl export nfd --insecure "$REGISTRY" --compatibility "$REGISTRY/app:1" --attach
    [[ $output == *"$artifact"* ]]
}
