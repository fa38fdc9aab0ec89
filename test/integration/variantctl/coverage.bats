#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What another data directory changes for a fleet: variantctl coverage --before --after.

load ../harness
load ../images

setup_file()
{
    local tag
    state_start
    require docker-registry skopeo jq
    start_registry
    make_variants "$STATE/images"
    push_layout "$STATE/images:app" "$REGISTRY/app:1"
    export TEI=ghcr.io/huggingface/text-embeddings-inference
    for tag in cpu-1.9 1.9 hopper-1.9 hpu-1.9; do
        mkimage "$STATE/images" "$tag" --file "etc/build=$tag"
        skopeo --insecure-policy copy -q --dest-tls-verify=false "oci:$STATE/images:$tag" \
            "docker://$REGISTRY/huggingface/text-embeddings-inference:$tag" 3>&-
    done
    printf 'registries:\n  ghcr.io: {url: "http://%s", insecure: true}\n' "$REGISTRY" >"$STATE/config.yaml"
    mkdir "$STATE/fleet"
    cp "$PROFILES"/{h100,laptop}.json "$STATE/fleet"
    cp "$PROFILES/h100.json" "$STATE/fleet/h200.json"
    for tag in old new; do
        mkdir "$STATE/$tag"
        cp -r "$OCV_TOP/plugins/tags.d" "$OCV_TOP/plugins/providers" "$STATE/$tag"
    done
    # in the old one nothing is for Hopper alone
    sed -i "/match: 'hopper'/s/gives: .*}/refuse: 'not yet'}/" "$STATE/old/tags.d/huggingface-tei.yaml"
}

compare()
{
    "$VARIANTCTL" coverage --config "$STATE/config.yaml" --before "$STATE/old" --after "$STATE/new" "$@"
}

@test "every image and machine whose choice changes, and exit 5" {
    run -5 --separate-stderr compare --profiles "$STATE/fleet" "$REGISTRY/app:1" --insecure "$REGISTRY" "$TEI:1.9"
    [[ ${lines[0]} == "$TEI:1.9" ]]
    [[ ${lines[1]} == "  h100, h200: "*" -> hopper-1.9 ("* ]]
    [[ ${lines[-1]} == "2 of 6 choices change (images 2, machines 3)" ]]
    [[ $output != *laptop* && $output != *app:1* ]]
    run -5 --separate-stderr compare --profiles "$STATE/fleet" --format json "$TEI:1.9"
    [ "$(jq -c '[.changes[] | [.host, .before.name, .after.name]]' <<<"$output")" = \
        '[["h100","cpu-1.9","hopper-1.9"],["h200","cpu-1.9","hopper-1.9"]]' ]
    # what each says is what `resolve` says by that directory
    OCV_DATADIR=$STATE/old run -0 --separate-stderr "$VARIANTCTL" resolve --config "$STATE/config.yaml" --profile "$PROFILES/h100.json" "$TEI:1.9"
    jq -r .selected.digest <<<"$output" >"$BATS_TEST_TMPDIR/old"
    OCV_DATADIR=$STATE/new run -0 --separate-stderr "$VARIANTCTL" resolve --config "$STATE/config.yaml" --profile "$PROFILES/h100.json" "$TEI:1.9"
    jq -r .selected.digest <<<"$output" >"$BATS_TEST_TMPDIR/new"
    run -5 --separate-stderr compare --profiles "$STATE/fleet" --format json "$TEI:1.9"
    [ "$(jq -r '.changes[0].before.digest' <<<"$output")" = "$(<"$BATS_TEST_TMPDIR/old")" ]
    [ "$(jq -r '.changes[0].after.digest' <<<"$output")" = "$(<"$BATS_TEST_TMPDIR/new")" ]
}

@test "what the configuration says of this machine is not said of others" {
    { cat "$STATE/config.yaml"; echo 'override: {nvidia: {sm_arch: ["90_real"], cuda_version_lower_bound: ["12.9"]}}'; } >"$BATS_TEST_TMPDIR/own.yaml"
    run -0 --separate-stderr "$VARIANTCTL" coverage --config "$STATE/config.yaml" --profiles "$STATE/fleet" --format json "$TEI:1.9"
    plain=$output
    run -0 --separate-stderr "$VARIANTCTL" coverage --config "$BATS_TEST_TMPDIR/own.yaml" --profiles "$STATE/fleet" --format json "$TEI:1.9"
    [ "$output" = "$plain" ]
    [[ $stderr == *"override"*" of the configuration is about this machine, and not applied to others"* ]]
    [ "$(grep -c override <<<"$stderr")" = 1 ] # once, however many machines
    # one machine by its profile, too; flags are for whom they are given
    run -0 --separate-stderr "$VARIANTCTL" resolve --config "$BATS_TEST_TMPDIR/own.yaml" --profile "$PROFILES/laptop.json" "$TEI:1.9"
    [ "$(jq -r .selected.label <<<"$output")" != hopper-1.9 ]
    run -0 --separate-stderr "$VARIANTCTL" lock --config "$BATS_TEST_TMPDIR/own.yaml" --profiles "$STATE/fleet" "$TEI:1.9"
    [[ $(jq -r '.images[0].profiles.laptop | .label, .tag' <<<"$output") != *hopper* ]]
}

@test "a file whose name is no text, and two of one name" {
    local fleet=$BATS_TEST_TMPDIR/fleet
    mkdir -p "$fleet/a" "$fleet/b"
    cp "$PROFILES/h100.json" "$fleet/"$'h\xff.json'
    run -0 --separate-stderr "$VARIANTCTL" coverage --json --profiles "$fleet" --insecure "$REGISTRY" "$REGISTRY/app:1"
    [ "$(jq -r '.hosts[0].host' <<<"$output")" = 'h?' ]
    cp "$PROFILES/h100.json" "$fleet/a/"$'n\xff.json'
    cp "$PROFILES/h100.json" "$fleet/b/"$'n\xff.json'
    run -0 --separate-stderr "$VARIANTCTL" coverage --json --profiles "$fleet/a" --profiles "$fleet/b" --insecure "$REGISTRY" "$REGISTRY/app:1"
    [ "$(jq -r '.hosts[].host' <<<"$output")" = "$fleet/a/n?"$'\n'"$fleet/b/n?" ]
}

@test "nothing changes: exit 0; one of the two is the installed one where it is not named" {
    run -0 --separate-stderr "$VARIANTCTL" coverage --config "$STATE/config.yaml" --before "$STATE/new" --after "$STATE/new" \
        --profiles "$STATE/fleet" "$TEI:1.9"
    [ "$output" = "0 of 3 choices change (images 1, machines 3)" ]
    OCV_DATADIR=$STATE/old run -5 --separate-stderr "$VARIANTCTL" coverage --config "$STATE/config.yaml" --after "$STATE/new" \
        --profiles "$STATE/fleet" --format json "$TEI:1.9"
    [ "$(jq -c '[.before, (.changes | length)]' <<<"$output")" = '[null,2]' ]
}

@test "a name that one of the rules does not know, and tags that they cannot tell apart" {
    rm -rf "$STATE/none"
    cp -r "$STATE/new" "$STATE/none"
    rm "$STATE/none/tags.d/huggingface-tei.yaml"
    run -5 --separate-stderr "$VARIANTCTL" coverage --config "$STATE/config.yaml" --before "$STATE/none" --after "$STATE/new" \
        --profiles "$STATE/fleet/h100.json" --format json "$TEI:1.9"
    [ "$(jq -r '.changes[0].after.name' <<<"$output")" = hopper-1.9 ]
    # a name that stands for nothing on both sides is not a change
    run -1 compare --profiles "$STATE/fleet" "$TEI:7.7"
    [[ $output == *"$TEI:7.7"* ]]
    # all others are compared none the less, and the first failure counts
    run -1 --separate-stderr compare --profiles "$STATE/fleet" "$TEI:7.7" "$TEI:1.9"
    [[ $output == *"2 of 3 choices change (images 1, machines 3)" ]]
}

@test "providers: a recorded machine is probed by those of each directory" {
    mkdir -p "$STATE/machine/sys/bus/pci/devices/0000:01:00.0" "$STATE/machine/proc"
    cp "$OCV_FIXTURES/cpuinfo/linux-rhel7-x86_64_v3/proc/cpuinfo" "$STATE/machine/proc/cpuinfo"
    printf '0x1ed2\n' >"$STATE/machine/sys/bus/pci/devices/0000:01:00.0/vendor"
    printf '0x0000\n' >"$STATE/machine/sys/bus/pci/devices/0000:01:00.0/device"
    printf '0x120000\n' >"$STATE/machine/sys/bus/pci/devices/0000:01:00.0/class"
    mkdir -p "$STATE/machine/sys/bus/pci/drivers/npu"
    ln -s ../../drivers/npu "$STATE/machine/sys/bus/pci/devices/0000:01:00.0/driver"
    mkimage "$STATE/images" warboy --file etc/build=warboy
    "$VARIANTCTL" index create --quiet "oci:$STATE/images:npu" "null=oci:$STATE/images:cpu" \
        "warboy=oci:$STATE/images:warboy,furiosa :: arch :: warboy" >/dev/null
    rm -rf "$STATE/blind"
    cp -r "$STATE/new" "$STATE/blind"
    rm "$STATE/blind/providers/furiosa.yaml"
    run -5 --separate-stderr "$VARIANTCTL" coverage --before "$STATE/blind" --after "$STATE/new" \
        --profiles "$STATE/machine" "oci:$STATE/images:npu"
    [[ ${lines[1]} == "  machine: "*" -> warboy ("* ]]
    # and it is one of a fleet
    run -0 --separate-stderr env OCV_DATADIR="$STATE/new" "$VARIANTCTL" coverage --profiles "$STATE/machine" --format json "oci:$STATE/images:npu"
    [ "$(jq -r '.hosts[0].selected.label' <<<"$output")" = warboy ]
}

@test "coverage rejects what is not a data directory, a fleet or an image" {
    run -2 "$VARIANTCTL" coverage --before "$STATE/images" --profiles "$STATE/fleet" "oci:$STATE/images:app"
    [[ $output == *"$STATE/images is not a data directory: it has no tags.d"* ]]
    run -2 "$VARIANTCTL" coverage --before "$STATE/old" --profiles "$STATE/fleet"
    [[ $output == *"--before and --after compare images by name"* ]]
    run -2 "$VARIANTCTL" coverage --profiles "$STATE/fleet"
    mkdir "$STATE/empty"
    run -4 "$VARIANTCTL" coverage --profiles "$STATE/empty" "oci:$STATE/images:app"
    [[ $output == *"has no profile (*.json) and no recorded machine"* ]]
}

@test "index coverage is the same verb" {
    [ "$("$VARIANTCTL" index coverage --profiles "$STATE/fleet" "oci:$STATE/images:app")" = \
        "$("$VARIANTCTL" coverage --profiles "$STATE/fleet" "oci:$STATE/images:app")" ]
}

@test "a gate for pipelines: machines that get nothing, or no more than the default" {
    run -0 "$VARIANTCTL" coverage --profiles "$FLEET_DIR" --fail-on nothing-fits,default-only "$REGISTRY/app:1"
    "$VARIANTCTL" index create --quiet --no-lint "oci:$VARIANTS:gpuonly" "rocm7.1=oci:$VARIANTS:rocm,amd :: gfx_arch :: gfx942" 2>/dev/null
    run -0 "$VARIANTCTL" coverage --profiles "$FLEET_DIR" "oci:$VARIANTS:gpuonly"
    run -5 --separate-stderr "$VARIANTCTL" coverage --profiles "$FLEET_DIR" --fail-on nothing-fits "oci:$VARIANTS:gpuonly"
    [ "$stderr" = "variantctl: nothing fits on 2 of 3 machines: h100, laptop" ]
    [[ $output == *"Nothing at all"* ]] # the table is there all the same
    run -0 "$VARIANTCTL" coverage --profiles "$FLEET_DIR" --fail-on default-only "oci:$VARIANTS:gpuonly"
    "$VARIANTCTL" index add --quiet "oci:$VARIANTS:gpuonly" --default "oci:$VARIANTS:cpu"
    run -5 --separate-stderr "$VARIANTCTL" coverage --format json --profiles "$FLEET_DIR" --fail-on nothing-fits,default-only "oci:$VARIANTS:gpuonly"
    [ "$stderr" = "variantctl: only the default fits on 2 of 3 machines: h100, laptop" ]
    jq -e . <<<"$output" >/dev/null
    run -2 "$VARIANTCTL" coverage --profiles "$FLEET_DIR" --fail-on nothing "oci:$VARIANTS:gpuonly"
    run -2 compare --profiles "$FLEET_DIR" --fail-on nothing-fits "$REGISTRY/app:1"
    [[ $output == *"--fail-on takes one image and no --before" ]]
}

@test "malformed profiles are left out, counted and named; --strict: all are named, exit 4; by coverage and lock" {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir fleet
    cp "$PROFILES/h100.json" fleet/good.json
    printf '{}' >fleet/empty.json
    printf 'no JSON' >fleet/text.json
    local verb warning="variantctl: warning: 2 bad nodes left out, the first: fleet/empty.json: "
    for verb in coverage lock; do
        run -0 --separate-stderr "$VARIANTCTL" $verb --profiles fleet "$REGISTRY/app:1"
        [[ ${#stderr_lines[@]} -eq 1 && ${stderr_lines[0]} == "$warning"* ]]
        [[ $output == *good* && $output != *text* ]]
    done
    mkdir bad
    cp fleet/empty.json bad
    for verb in coverage lock; do
        run -4 --separate-stderr "$VARIANTCTL" $verb --profiles bad "$REGISTRY/app:1"
        [[ $stderr == *"variantctl: bad: no node with a profile" ]]
    done
    run -4 "$VARIANTCTL" coverage --strict --profiles fleet "$REGISTRY/app:1"
    [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[0]} == "variantctl: fleet/empty.json: "* ]]
    [[ ${lines[1]} == "variantctl: fleet/text.json: "* ]]
    run -4 "$VARIANTCTL" lock --profiles fleet --strict "$REGISTRY/app:1"
    [[ ${lines[0]} == "variantctl: fleet/empty.json: "*"; fleet/text.json: "* ]]
    rm fleet/empty.json fleet/text.json
    run -0 "$VARIANTCTL" lock --profiles fleet "$REGISTRY/app:1"
    run -2 "$VARIANTCTL" coverage "$REGISTRY/app:1"
    [ "${lines[1]}" = "hint: --profiles takes a directory with what 'variantctl probe' prints on each machine, as NAME.json" ]
}

@test "a document of nodes: a row for each class, however many nodes; JSON Lines, packed, kubectl's list" {
    cd "$BATS_TEST_TMPDIR" || return 1
    jq -c -n --slurpfile h "$PROFILES/h100.json" --slurpfile l "$PROFILES/laptop.json" \
        'range(5000) | {name: "n\(. + 10000)", profile: (if . % 2 == 0 then $h[0] else $l[0] end)}' >fleet.jsonl
    "$VARIANTCTL" fleet pack fleet.jsonl >fleet.packed
    for fleet in fleet.jsonl fleet.packed; do
        run -0 --separate-stderr "$VARIANTCTL" coverage --profiles "$fleet" --format json "oci:$STATE/images:app"
        [ "$(jq -c '[.hosts[] | [.nodes, .selected.label]] | sort' <<<"$output")" = '[[2500,"cpu.v3"],[2500,"cuda12.8"]]' ]
        run -0 --separate-stderr "$VARIANTCTL" coverage --profiles "$fleet" "oci:$STATE/images:app"
        [[ $output == *"Hosts   5000"* && $output == *"n10000+2499  n10001+2499"* && ${#lines[@]} -lt 20 ]]
    done
    run -0 --separate-stderr "$VARIANTCTL" coverage --profiles - --format json "oci:$STATE/images:app" <fleet.packed
    [ "$(jq '[.hosts[].nodes] | add' <<<"$output")" = 5000 ]
    jq -n --slurpfile h "$PROFILES/h100.json" '{kind: "List", items: [{kind: "Node", metadata: {name: "k1", annotations: {"dev.ocivariant/profile": ($h[0] | tojson)}}}]}' >nodes.json
    run -0 --separate-stderr "$VARIANTCTL" coverage --profiles nodes.json --profiles "$PROFILES/laptop.json" --format json "oci:$STATE/images:app"
    [ "$(jq -c '[.hosts[] | [.host, .nodes, .selected.label]]' <<<"$output")" = '[["laptop",1,"cpu.v3"],["k1",1,"cuda12.8"]]' ]
    "$VARIANTCTL" index create --quiet --no-lint "oci:$VARIANTS:gpu2" "rocm7.1=oci:$VARIANTS:rocm,amd :: gfx_arch :: gfx942" 2>/dev/null
    run -5 --separate-stderr "$VARIANTCTL" coverage --profiles fleet.packed --fail-on nothing-fits "oci:$VARIANTS:gpu2"
    [ "$stderr" = "variantctl: nothing fits on 5000 of 5000 machines: n10000+2499, n10001+2499" ]
    # what is neither a profile nor a document is a bad profile
    echo '{"schema": "x"}' >bad.json
    run -4 "$VARIANTCTL" coverage --profiles bad.json "oci:$STATE/images:app"
}

@test "--report: a page of classes and images, used by its keyboard" {
    cd "$BATS_TEST_TMPDIR" || return 1
    jq -c -n --slurpfile h "$PROFILES/h100.json" --slurpfile m "$PROFILES/mi300x.json" --slurpfile l "$PROFILES/laptop.json" \
        '(range(3) | {name: "gpu\(.)", profile: $h[0]}), {name: "amd0", profile: $m[0]}, {name: "laptop", profile: $l[0]}' >fleet.jsonl
    "$VARIANTCTL" index create --quiet --no-lint "oci:$VARIANTS:cuonly" "null=oci:$VARIANTS:cpu" \
        "cuda12.8=oci:$VARIANTS:cuda,nvidia :: cuda_version_lower_bound :: 12.8" 2>/dev/null
    run -0 --separate-stderr "$VARIANTCTL" coverage --profiles fleet.jsonl --report page.html "oci:$VARIANTS:app" "oci:$VARIANTS:cuonly"
    [ -z "$output" ]
    run ! grep -qiE '<script|src=|href=|@import|url\(' page.html
    [[ $(command -v chromium) ]] || skip "chromium is not installed"
    run -0 timeout 120 python3 "$OCV_TOP/test/integration/browser.py" "$BATS_TEST_TMPDIR/chromium" page.html \
        '= [...document.querySelectorAll("tbody tr")].map(r => r.querySelector("th").innerText.split("\n")[0])' \
        '= [...document.querySelectorAll("tbody tr")].map(r => [...r.querySelectorAll("td")].map(c => c.className + " " + c.innerText.split("\n")[0]))' \
        '= [...document.querySelectorAll("td.less")].map(c => c.innerText).join("|")' \
        Tab '= document.activeElement.getAttribute("role")' Tab '= document.activeElement.tagName' '= document.querySelector("details").open' \
        Enter '= document.querySelector("details").open' \
        light '= getComputedStyle(document.documentElement).colorScheme + " " + matchMedia("(prefers-color-scheme: dark)").matches' \
        dark '= matchMedia("(prefers-color-scheme: dark)").matches'
    echo "$output"
    [ "${lines[0]}" = '["gpu0 and 2 more", "amd0", "laptop"]' ]
    [ "${lines[1]}" = '[["fit cuda12.8", "fit cuda12.8"], ["fit rocm7.1", "less the default"], ["fit cpu.v3", "fit the default"]]' ]
    [[ ${lines[2]} == *"only the default fits; no build for amd"* ]]
    [ "${lines[3]}" = '"region"' ]
    [ "${lines[4]}" = '"SUMMARY"' ]
    [ "${lines[5]} ${lines[6]}" = "false true" ]
    [[ ${lines[7]} == '"light dark false"' && ${lines[8]} == true ]]
}
