#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The commands of docs/operating.md, section after section, as they stand, with the files of `make install`.

load ../harness
load ../images
load ../world

setup_file()
{
    state_start
    require docker-registry skopeo containerd ctr curl openssl unshare nsenter
    start_world
    world_registry
    make_programs "$STATE/layout"
    in_world skopeo --insecure-policy copy --quiet --all "oci:$STATE/layout:app" docker://registry.example/team/app:1.0
    # a node as the quick start leaves it
    in_world sh -c 'printf "choose: on\nregistries:\n  registry.example:\n" >/etc/ocivariant/config.yaml'
    in_world systemctl enable --now variantd
    in_world variantctl setup containerd >/dev/null
    in_world systemctl restart containerd
    in_world ctr images pull --hosts-dir /etc/containerd/certs.d registry.example/team/app:1.0 >/dev/null
}

@test "every section of the page with commands is run here" {
    local section
    while read -r section; do
        ! page_blocks operating.md "$section" | grep -q . || grep -qF "operating.md \"$section\"" "$BATS_TEST_FILENAME" || {
            echo "not run: $section" && false
        }
    done < <(grep '^## ' "$OCV_TOP/docs/operating.md" | cut -c 4-)
}

@test "health checks" {
    run -0 run_section operating.md "Health checks"
    echo "$output"
    [[ $output == *"is sound"* ]]
    [[ $output == *"variantd: answers at 127.0.0.1:340"* ]]
    [[ $output == *'variantd_requests_total{outcome="variant"} '[1-9]* ]]
    [[ $output == *"variantd_config_last_reload_successful 1"* ]]
    [[ $output == *"variantd_foreign_listener 0"* ]]
}

@test "what is logged" {
    run -0 run_section operating.md "What is logged"
    echo "$output"
    [[ $output == *"mirror on 127.0.0.1:340"* && $output == *"registry registry.example"* ]]
}

@test "by symptom" {
    run -0 run_section operating.md "By symptom"
    echo "$output"
    [[ $output == *'"HEAD /v2/team/app/manifests/1.0" 200 variant '* || $output == *"team/app"* ]]
    in_world jq -e '.schema == "dev.ocivariant.profile/v1"' mine.json
    in_world jq -e '.schema == "dev.ocivariant.profile/v1"' daemon.json
}

@test "change the configuration" {
    run -0 run_section operating.md "Change the configuration"
    echo "$output"
    [[ $output == *"configuration read again"* ]]
    [[ $output == *"unknown key 'tag_tll'"* && $output == *"not taken: 2"* ]]
    in_world variantd --check
}

@test "upgrade, and go back" {
    local mine
    mine=$(in_world variantctl resolve registry.example/team/app:1.0 | jq -r '.selected.label')
    run -0 run_section operating.md "Upgrade, and go back"
    echo "$output"
    [[ $output == *"shadow: would serve $mine"* ]]
    [ "$(in_world sed -n 's/^choose: //p' /etc/ocivariant/config.yaml)" = off ]
    [ -z "$(in_world find /etc -name hosts.toml)" ]
    run -0 in_world curl -s "http://127.0.0.1:340/v2/team/app/manifests/1.0?ns=registry.example" -o /dev/null -w '%{http_code}'
    [ "$output" = 404 ] # the engine asks the registry
}
