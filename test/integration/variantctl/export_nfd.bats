#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# variantctl export nfd: read as node-feature-discovery reads it (v0.19, source/local), no line is lost, and
# what becomes a label is one that Kubernetes takes.

load ../harness

setup_file()
{
    state_start
    mkdir -p "$STATE/nodes"/{gang,labelled} "$STATE/features.d"
    python3 "$OCV_TOP/test/integration/claim_nodes.py" "$STATE/nodes"
}

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
