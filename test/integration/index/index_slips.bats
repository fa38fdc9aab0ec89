#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What a publisher is told after a slip of the hand: each message names the thing and the next step.

load ../harness
load ../images

setup_file()
{
    start_publisher cpu cuda rocm v3
}

setup()
{
    empty_checkout
    CUDA="cuda12.8=$R/app:1.0-cuda,nvidia :: sm_arch :: 90_real"
    ROCM="rocm7.1=$R/app:1.0-rocm,amd :: gfx_arch :: gfx942"
}

# variantctl: what is wrong; nothing but this and the hint
fails()
{
    run "-$1" "$VARIANTCTL" index "${@:4}"
    [ "$output" = "variantctl: $2${3:+$'\n'hint: $3}" ]
}

@test "a typing error in a namespace is never in the list that a hint offers" {
    "$VARIANTCTL" index create --quiet --namespaces nvidia,habana "$R/typo:1" "null=$R/app:1.0-cpu" "$CUDA"
    fails 4 "the namespaces of the index leave out 'habanna'" "did you mean habana :: arch :: gaudi3?" \
        add "$R/typo:1" "gaudi3=$R/app:1.0-v3,habanna::arch::gaudi3"
    fails 4 "the namespaces of the index leave out 'amdd'" \
        "did you mean amd :: gfx_arch :: gfx942? Then --namespaces 'nvidia, habana, amd', too, most important first" \
        add "$R/typo:1" "rocm=$R/app:1.0-rocm,amdd::gfx_arch::gfx942"
    fails 4 "the namespaces of the index leave out 'acme'" "--namespaces 'nvidia, habana, acme', most important first" \
        add "$R/typo:1" "acme=$R/app:1.0-v3,acme::chip::one"
    fails 4 "two accelerators without an order: nvidia, habanna" \
        "did you mean habana? Then list them, most important first: --namespaces 'nvidia, habana'" \
        create "$R/typo:2" "null=$R/app:1.0-cpu" "$CUDA" "gaudi3=$R/app:1.0-v3,habanna::arch::gaudi3"
    fails 4 "two accelerators without an order: habana, habanna" "did you mean habana?" \
        create "$R/typo:2" "null=$R/app:1.0-cpu" "gaudi2=$R/app:1.0-rocm,habana::arch::gaudi2" "gaudi3=$R/app:1.0-v3,habanna::arch::gaudi3"
}

@test "a wrong namespace that is mended leaves the list with a word, and the word says how" {
    "$VARIANTCTL" index create --quiet --namespaces nvidia,habanna "$R/typo:3" "null=$R/app:1.0-cpu" "$CUDA" \
        "gaudi3=$R/app:1.0-v3,habanna::arch::gaudi3" 2>/dev/null
    run -0 --separate-stderr "$VARIANTCTL" index annotate --namespaces nvidia,habanna,habana "$R/typo:3" 'gaudi3=habana::arch::gaudi3'
    [[ $stderr == *"note: no variant uses the namespace habanna [OCV106 namespace-unused]"$'\n'"hint: --namespaces 'nvidia, habana' leaves it out"* ]]
    run -0 --separate-stderr "$VARIANTCTL" lint "$R/typo:3"
    [[ $output == *"hint: --namespaces 'nvidia, habana' leaves it out: variantctl index annotate --namespaces 'nvidia, habana' $R/typo:3"* ]]
    run -0 --separate-stderr "$VARIANTCTL" index annotate --namespaces 'nvidia, habana' "$R/typo:3"
    [ -z "$stderr" ]
}

@test "a build that is made again: the hint names --replace, which keeps the properties" {
    "$VARIANTCTL" index create --quiet --namespaces nvidia,amd "$R/again:1" "null=$R/app:1.0-cpu" "$CUDA" "$ROCM"
    fails 4 "cuda12.8: the second image for linux/amd64 with this label" "to replace that one: index add --replace" \
        add "$R/again:1" "cuda12.8=$R/app:1.0-v3,nvidia :: sm_arch :: 90_real"
    fails 4 "null: the second default for linux/amd64" "to replace that one: index add --replace" \
        add "$R/again:1" "null=$R/app:1.0-v3"
    # two in one command: there is none to replace
    fails 4 "cuda12.8: the second image for linux/amd64 with this label" "" \
        create "$R/again:2" "null=$R/app:1.0-cpu" "$CUDA" "cuda12.8=$R/app:1.0-v3,nvidia :: sm_arch :: 90_real"
    run -0 --separate-stderr "$VARIANTCTL" index add --replace "$R/again:1" "cuda12.8=$R/app:1.0-v3"
    [[ $output != *" :: "* ]]
    [ "${lines[2]}" = "~ cuda12.8  linux/amd64/x-cuda12-8  $(digest_of cuda12.8) -> $(digest_of cpu.v3)" ] # with the same properties
    run -0 --separate-stderr "$VARIANTCTL" index add --replace "$R/again:1" "cuda12.8=$R/app:1.0-cuda,nvidia :: sm_arch :: 80_real"
    [ "${lines[3]}" = "      - nvidia :: sm_arch :: 90_real" ]
    [ "${lines[4]}" = "      + nvidia :: sm_arch :: 80_real" ]
    run -0 --separate-stderr "$VARIANTCTL" index add --replace "$R/again:1" "null=$R/app:1.0-v3"
    [ "${lines[2]}" = "~ the default  linux/amd64  $(digest_of null) -> $(digest_of cpu.v3)" ]
    run -0 "$VARIANTCTL" index show --format json "$R/again:1"
    [ "$(jq -r '[.manifests[] | .annotations["dev.ocivariant.label"] // "-"] | join(" ")' <<<"$output")" = "- cuda12.8 rocm7.1" ]
    # nothing to replace is an ordinary addition, which has to say what it needs
    run -1 "$VARIANTCTL" index add --replace "$R/again:1" "gaudi=$R/app:1.0-v3"
    [ "${lines[0]}" = "variantctl: no entry gaudi" ]
}

@test "what is no index, or not there, names the command that makes one" {
    fails 1 "$R/app:9.0: not found on $R: MANIFEST_UNKNOWN: manifest unknown" \
        "variantctl index create $R/app:9.0 LABEL=REF,PROPERTY... makes it" add "$R/app:9.0" "$CUDA"
    fails 4 "$R/app:1.0-cpu is a single image, not an index" \
        "variantctl index create $R/app:1.0-cpu null=$R/app:1.0-cpu LABEL=REF,PROPERTY... makes an index of it" add "$R/app:1.0-cpu" "$CUDA"
}

@test "a property that is none says what to write" {
    fails 2 "'gaudi2=$R/app:1.0-v3 habana::arch::gaudi2' is not LABEL=REF[,PROPERTY...]" "separate the image from its properties by a comma" \
        add "$R/app:1.0" "gaudi2=$R/app:1.0-v3 habana::arch::gaudi2"
    fails 4 "cuda: 'nvidia::sm_arch::H100' is not a property (namespace :: feature :: value, lower case)" \
        "did you mean nvidia :: sm_arch :: 90_real?" create "$R/x:1" "cuda=$R/app:1.0-cuda,nvidia::sm_arch::H100"
    fails 4 "cuda: 'nvidia::sm_arch::Hopper' is not a property (namespace :: feature :: value, lower case)" \
        "its values: variantctl vocabulary nvidia::sm_arch" create "$R/x:1" "cuda=$R/app:1.0-cuda,nvidia::sm_arch::Hopper"
    fails 4 "cuda: 'nvidia::cuda_version_lower_bound>=12.8' is not a property (namespace :: feature :: value, lower case)" \
        "write only the value after '::': the feature defines the comparison (variantctl vocabulary)" \
        create "$R/x:1" "cuda=$R/app:1.0-cuda,nvidia::cuda_version_lower_bound>=12.8"
    fails 4 "cuda: 'nvidia' is not a property (namespace :: feature :: value, lower case)" "'variantctl vocabulary' lists them" \
        create "$R/x:1" "cuda=$R/app:1.0-cuda,nvidia"
}

@test "two plain images of a platform: which one nobody gets, and the command that gives it its place" {
    local plain
    plain=$(jq -c --arg a "$(digest_of null)" --arg b "$(digest_of cuda12.8)" '.manifests |= map(select(.digest == $a or .digest == $b) | del(.annotations, .platform.variant)) | del(.annotations)' \
        < <("$VARIANTCTL" index show --format json "oci:$VARIANTS:app"))
    curl -sf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary "$plain" "http://$R/v2/app/manifests/plain"
    run -0 "$VARIANTCTL" lint "$R/app:plain"
    [[ $output == *"manifests[1]: like manifests[0] it has no label and no properties: every client takes that one for linux/amd64, and never this one [OCV524 image-unreached]"* ]]
    [[ $output == *"hint: variantctl index annotate --label $(digest_of cuda12.8)=LABEL $R/app:plain '$(digest_of cuda12.8)=NAMESPACE :: FEATURE :: VALUE', or index remove $R/app:plain $(digest_of cuda12.8)"* ]]
    [[ $output != *"--fix gives"* ]]
    # the hint with the blanks filled in
    run -0 "$VARIANTCTL" index annotate --label "$(digest_of cuda12.8)=cuda12.8" "$R/app:plain" "$(digest_of cuda12.8)=nvidia :: sm_arch :: 90_real"
    run -0 "$VARIANTCTL" lint "$R/app:plain"
    [[ $output != *OCV524* ]]
    run -0 "$VARIANTCTL" resolve --profile "$PROFILES/h100.json" "$R/app:plain"
    [ "$(jq -r .selected.label <<<"$output")" = cuda12.8 ]
}

@test "one reference for the default and a variant is a warning" {
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet "$R/same:1" "null=$R/app:1.0-cuda" "$CUDA"
    [ "${stderr_lines[0]}" = "variantctl: warning: cuda12.8: cuda12.8 and the default are the same image [OCV126 default-is-variant]" ]
}

@test "YAML: quotes, lists, and the line of the word that is wrong" {
    printf '%s\n' 'target: x.example/a:1' 'variants:' '  - label: null' '    image: x.example/a:cpu' '  - label: rocm' \
        '    image: x.example/a:rocm' '    properties: [amd :: gfx_arch :: gfx942]' >list.yaml
    run -4 "$VARIANTCTL" index create --from list.yaml
    [[ ${lines[0]} == "variantctl: list.yaml:7: "* ]]
    [ "${lines[1]}" = "hint: put properties in quotes: 'nvidia :: sm_arch :: 90_real'" ]
    sed -i 's/\[amd :: gfx_arch :: gfx942\]/{nvidia: {sm_arch: "90_real, 80_real"}}/' list.yaml
    fails 4 "list.yaml:7: sm_arch has several values: write a list, sm_arch: [90_real, 80_real]" "" create --from list.yaml
    printf '%s\n' 'target: x.example/a:1' 'variants:' '  - label: null' '    image: x.example/a:cpu' '  - label: cuda' \
        '    image: x.example/a:cuda' '    properties:' '      nvidia:' '        cuda_version_lower_bound: 12.8' '        sm_arch:' \
        '          - 90_real' '          - 80real' '        sm_arhc: 70_real' >lines.yaml
    run -5 "$VARIANTCTL" lint lines.yaml
    [ "${lines[0]}" = "lines.yaml:12: error: cuda: nvidia :: sm_arch has no value 80real [OCV205 value-unknown]" ]
    [ "${lines[2]}" = "lines.yaml:13: error: cuda: the namespace nvidia has no feature sm_arhc [OCV204 feature-unknown]" ]
}

@test "of a file create says what lint says: all of it, in the same words and with the same lines, before any request" {
    printf '%s\n' 'target: nowhere.invalid/a:1' 'namespaces: [nvidia]' 'variants:' '  - label: cuda12.8' '    image: x.invalid/a:cuda' \
        '    properties: {nvidia: {cuda_version_lower_bound: 13.0, sm_arhc: 90_real}}' '  - label: a' '    image: x.invalid/a:a' \
        '    properties: {nvidia: {sm_arch: [80_real, 90_real]}}' '  - label: b' '    image: x.invalid/a:b' \
        '    properties: {nvidia: {sm_arch: [75_real, 90_real]}}' '  - label: v3' '    image: x.invalid/a:v3' \
        '    properties: {x86_64: {level: v3}}' >all.yaml
    run -5 --separate-stderr "$VARIANTCTL" lint all.yaml
    for rule in OCV105 OCV120 OCV127 OCV204 OCV209 OCV501; do [[ $output == *"[$rule "* ]] || { echo "no $rule" && false; }; done
    sed '$d; s/^\(all.yaml:[0-9]*\): \([a-z]*\): /variantctl: \2: \1: /; s/^    hint:/hint:/' <<<"$output" >said
    run -4 --separate-stderr "$VARIANTCTL" index create --from all.yaml
    diff said <(sed '/: lint finds 3 errors: nothing was written$/,$d' <<<"$stderr")
    [ "${stderr_lines[-1]}" = "hint: correct all.yaml, or allow it in .ocivariant-lint.yaml" ]
    # what is to be done is done in the file
    [[ $stderr == *"'namespaces: [nvidia, x86_64]' lists it"*"'static: {priority: "* && $stderr != *" --"* ]]
    # with warnings alone it goes on; they are told once
    printf '%s\n' "target: $R/warned:1" 'variants:' "  - {label: null, image: \"$R/app:1.0-cpu\"}" '  - label: cuda12.8' "    image: $R/app:1.0-cuda" \
        '    properties: {nvidia: {cuda_version_lower_bound: 13.0}}' >warned.yaml
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet --from warned.yaml
    [ "$(grep -c 'OCV127' <<<"$stderr")" = 1 ]
    [[ ${stderr_lines[0]} == "variantctl: warning: warned.yaml:4: cuda12.8: the label says 'cuda12.8'"* ]]
    # with properties from its files nothing is said of what a build lacks
    sed -i 's/^target/derive: true\n&/; /sm_arhc/s/, sm_arhc: 90_real//' all.yaml
    run -5 --separate-stderr "$VARIANTCTL" lint all.yaml
    [[ $output != *OCV120* && $output != *OCV209* && $output == *OCV105* ]]
}

@test "create warns of what lint warns of in what it writes" {
    local created
    run -0 --separate-stderr "$VARIANTCTL" index create --quiet "$R/warn:1" "null=$R/app:1.0-cpu" "cuda=$R/app:1.0-cuda,nvidia :: sm_arch :: 90_real"
    created=$(sed -n 's/^variantctl: warning: //p' <<<"$stderr" | sort)
    [[ $created == *OCV209* ]]
    run -0 --separate-stderr "$VARIANTCTL" lint "$R/warn:1"
    [ "$created" = "$(sed -n 's/^.*: warning: manifests\[[0-9]*\] (\([a-z0-9.]*\)): /\1: /p' <<<"$output" | sort)" ]
    # an edit only of what it adds
    run -0 --separate-stderr "$VARIANTCTL" index annotate --quiet "$R/warn:1" --annotation org.example.note=x
    [ -z "$stderr" ]
}

@test "of a file the order is asked for before any image, and all images that lack are told at once" {
    printf '%s\n' "target: $R/many:1" 'variants:' '  - label: null' "    image: $R/none:cpu" '  - label: cuda' "    image: $R/none:cuda" \
        "    properties: ['nvidia :: cuda_version_lower_bound :: 12.8']" '  - label: rocm' '    properties: {amd: {gfx_arch: gfx942}}' "    image: $R/app:1.0-rocn" >app.yaml
    run -4 "$VARIANTCTL" index create --from app.yaml
    [ "${lines[0]}" = "variantctl: error: app.yaml:1: 2 accelerators without an order: nvidia, amd [OCV103 namespaces-missing]" ]
    [ "${lines[1]}" = "hint: add 'namespaces: [nvidia, amd]', most important first" ]
    echo 'namespaces: [nvidia, amd]' >>app.yaml
    run -1 "$VARIANTCTL" index create --from app.yaml
    [ "$(grep -c ': not found on ' <<<"$output")" -eq 3 ]
    [[ $output == *"variantctl: app.yaml:4: null: $R/none:cpu: not found on "* ]]
    [[ $output == *"variantctl: app.yaml:6: cuda: $R/none:cuda: not found on "* ]]
    [[ $output == *"variantctl: app.yaml:10: rocm: $R/app:1.0-rocn: not found on "* ]]
    # of the first the tag is looked for that was meant
    sed -i "s|$R/none:|$R/app:1.0-|" app.yaml
    run -1 "$VARIANTCTL" index create --from app.yaml
    [ "${#lines[@]}" -eq 2 ]
    [ "${lines[1]}" = "hint: did you mean $R/app:1.0-rocm?" ]
    run -1 "$VARIANTCTL" index create "$R/many:1" "null=$R/app:1.0-c"
    [ "${lines[1]}" = "hint: did you mean $R/app:1.0-cpu?" ] # the first of those that begin so
}

@test "lint says when no tag was given, and when the image is no index" {
    run -1 "$VARIANTCTL" lint "$R/app"
    [ "${lines[1]}" = "hint: no tag given, latest assumed: name a tag; 'variantctl tags plan $R/app' lists them" ]
    run -0 --separate-stderr "$VARIANTCTL" lint "$R/app:1.0-cpu"
    [ "$stderr" = "$R/app:1.0-cpu is a single image, not an index: only the rules about images apply" ]
    [[ $output == "0 errors, "* ]]
    # every tag of a layout is looked at: most are single images
    run -0 --separate-stderr "$VARIANTCTL" lint "oci:$VARIANTS"
    [ -z "$stderr" ]
}

@test "the first command of the guide runs as it stands" {
    local tag
    for tag in cpu:cpu cuda:cu128 rocm:rocm; do push_layout "$VARIANTS:${tag%:*}" "$R/guide/app:1.0-${tag#*:}"; done
    sed -n '/^ *variantctl index create .* \\$/,/[^\\]$/p' "$OCV_TOP/docs/authoring.md" | sed -n '1,/[^\\]$/p' |
        sed "s|registry.example/|$R/guide/|g; s|variantctl|$VARIANTCTL|" >guide.sh
    grep -q rocm7.1 guide.sh
    run -0 --separate-stderr bash -e guide.sh
    [ -z "$stderr" ]
    [[ ${lines[0]} == "$R/guide/app:1.0  sha256:"*"  (3 entries)" ]]
}

@test "a label that says another version than the properties is told of" {
    printf '%s\n' 'target: x.example/a:1' 'variants:' '  - {label: null, image: x.example/a:cpu}' \
        '  - {label: cuda12.8, image: x.example/a:cuda, properties: {nvidia: {cuda_version_lower_bound: 13.0}}}' >app.yaml
    run -0 "$VARIANTCTL" lint app.yaml
    [[ ${lines[0]} == "app.yaml:4: warning: cuda12.8: the label says 'cuda12.8'; its nvidia :: cuda_version_lower_bound :: 13.0 "*" [OCV127 label-disagrees]" ]]
}
