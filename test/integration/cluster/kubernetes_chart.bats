#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# contrib/kubernetes without a cluster: what the chart makes of its values, and that the manifests beside it
# are what it makes of the usual ones.

load ../harness
load ../kube

setup_file()
{
    state_start
    require python3 jq
}

CHART=$OCV_TOP/contrib/kubernetes/chart

# the objects that helm makes, as JSON, an object a line, in the order in which they are applied
rendered()
{
    chart template variantd "$CHART" --namespace ocivariant --kube-version 1.36.0 --set-json 'registries={"docker.io": null}' "$@" >"$BATS_TEST_TMPDIR/rendered" || return 1
    python3 -c 'import json, sys, yaml
for o in yaml.safe_load_all(open(sys.argv[1])):
    for item in o["items"] if o and o["kind"] == "List" else [o]:
        if item: print(json.dumps(item))' "$BATS_TEST_TMPDIR/rendered"
}

setup_arguments() { jq -r 'select(.kind == "DaemonSet") | .spec.template.spec.initContainers[0].args[]'; }
mounted() { jq -r 'select(.kind == "DaemonSet") | .spec.template.spec.initContainers[0].volumeMounts[] | select(.name | startswith("engine")) | .mountPath'; }

@test "the manifests are those of the chart, and the chart is of this version" {
    local file version
    version=$(<"$OCV_TOP/VERSION")
    for file in "$OCV_TOP"/contrib/kubernetes/{variantd,remove,monitoring,announce}.yaml; do
        [ "$(sed -n 4p "$file")" = "# $("$OCV_TOP/contrib/kubernetes/render.sh" --checksum)" ]
    done
    grep -qx "version: $version" "$CHART/Chart.yaml"
    grep -qx "appVersion: $version" "$CHART/Chart.yaml"
    # and no right is given to more than the set-up's events
    [ "$(grep -cE '^kind: (Cluster)?Role$' "$OCV_TOP/contrib/kubernetes/variantd.yaml")" = 1 ]
    run ! grep -q ClusterRole "$OCV_TOP/contrib/kubernetes/variantd.yaml"
    run ! grep -qE 'preStop|privileged: true|hostPID|/var/run/.*sock' "$OCV_TOP/contrib/kubernetes/variantd.yaml"
}

@test "helm renders them, byte for byte" {
    local file
    helm_here
    mkdir "$BATS_TEST_TMPDIR/again"
    "$OCV_TOP/contrib/kubernetes/render.sh" "$BATS_TEST_TMPDIR/again"
    for file in variantd monitoring remove announce; do
        cmp "$OCV_TOP/contrib/kubernetes/$file.yaml" "$BATS_TEST_TMPDIR/again/$file.yaml"
    done
    run -0 chart lint "$CHART"
    # what helm packs is what it renders
    chart package "$CHART" --destination "$BATS_TEST_TMPDIR" >/dev/null
    tar -xzf "$BATS_TEST_TMPDIR"/variantd-*.tgz -C "$BATS_TEST_TMPDIR"
    cmp "$BATS_TEST_TMPDIR/variantd/files/rules.yaml" "$OCV_TOP/contrib/kubernetes/chart/files/rules.yaml"
}

@test "where containerd's configuration is: the usual place, k3s, RKE2, and others for who accepts that" {
    local name
    helm_here
    run -0 mounted < <(rendered)
    [ "$output" = /host/etc/containerd ]
    run ! grep engine-config < <(rendered | setup_arguments)
    for name in k3s rke2; do
        run -0 setup_arguments < <(rendered --set engine=$name)
        [[ $output == *"--engine-config=/var/lib/rancher/$name/agent/etc/containerd/config.toml"* ]]
        run -0 mounted < <(rendered --set engine=$name)
        [ "$output" = "/host/var/lib/rancher/$name/agent/etc/containerd" ]
    done
    custom=(--set engine=custom --set custom.config=/opt/c/config.toml --set 'custom.directories={/opt/c,/opt/d}')
    run ! rendered "${custom[@]}"
    [[ $output == *"engine: custom is not tested: acceptUntested: true says that you know"* ]]
    run -0 mounted < <(rendered "${custom[@]}" --set acceptUntested=true)
    [ "$output" = $'/host/opt/c\n/host/opt/d' ]
    run ! rendered --set engine=cri-o
}

@test "nothing edits containerd's configuration, and shadow is how it begins, unless asked otherwise" {
    helm_here
    run ! grep edit < <(rendered | setup_arguments)
    run -0 setup_arguments < <(rendered --set editContainerdConfig=true)
    [[ $output == *--edit-engine-config* ]]
    config() { jq -r 'select(.kind == "ConfigMap") | .data["config.yaml"] // empty'; }
    run -0 config < <(rendered)
    [ "$output" = $'choose: shadow\nregistries:\n  docker.io: {}' ]
    # true and on are one thing to YAML
    run -0 config < <(rendered --set choose=true --set-json 'config={"repositories": {"docker.io/a/**": {"choose": "off"}}}' --set credentialsSecret=pull)
    [[ $output == *'choose: "on"'* && $output == *"docker.io/a/**:"* && $output == *"credentials: /etc/ocivariant-credentials/config.json"* ]]
    # the daemon takes it
    printf '%s\n' "$output" | grep -v ^credentials >"$BATS_TEST_TMPDIR/config.yaml"
    run -0 "$OCV_BUILD/variantd" --check --config "$BATS_TEST_TMPDIR/config.yaml"
    # what it cannot mean is refused
    run ! rendered --set-json 'registries={"docker.io": null}' --set choose=maybe
    run ! rendered --set monitoring.port=0
    run ! rendered --set imagee.tag=1
    run ! chart template variantd "$CHART" --kube-version 1.36.0
    [[ $output == *"registries: name at least one"* ]]
}

@test "verify: a container that alone has the engine's socket, and only if asked for" {
    local container='select(.kind == "DaemonSet") | .spec.template.spec.containers[1] // empty'
    helm_here
    run -0 jq -r "$container" < <(rendered)
    [ -z "$output" ]
    run ! grep -q engine-socket < <(rendered)
    run -0 jq -r "$container | .args | join(\" \")" < <(rendered --set verify=report)
    [ "$output" = "--config=/etc/ocivariant/config.yaml --from=cri:/run/containerd/containerd.sock --every=10m" ]
    run -0 jq -r "$container | (.args[-1], .volumeMounts[-1].mountPath, .command[0])" < <(rendered --set verify=repair --set engine=k3s)
    [ "$output" = $'--repair\n/run/k3s/containerd/containerd.sock\n/usr/bin/variantctl' ]
    run -0 jq -r 'select(.kind == "DaemonSet") | .spec.template.spec.containers[0].volumeMounts[].name' < <(rendered --set verify=repair)
    [[ $output != *engine-socket* ]]
    # it takes what the command takes
    run -0 jq -r "$container | .args[]" < <(rendered --set verify=repair)
    mapfile -t words <<<"$output"
    words=("${words[@]/--config=*/--config=$BATS_TEST_TMPDIR/config.yaml}")
    echo 'socket: /nonexistent.sock' >"$BATS_TEST_TMPDIR/config.yaml"
    run -130 --separate-stderr timeout --signal INT --preserve-status 2 "$VARIANTCTL" verify "${words[@]}" --profile "$OCV_TOP/plugins/profiles/h100.json"
    [[ $stderr == *"cri-images: /run/containerd/containerd.sock cannot be reached"* ]]
    run ! rendered --set verify=yes
    run ! rendered --set verify=report --set engine=custom --set acceptUntested=true --set custom.config=/c.toml
    [[ $output == *"it needs custom.socket"* ]]
}

@test "the schema of the values has what the configuration's has" {
    "$OCV_TOP/contrib/kubernetes/render.sh" --schema "$BATS_TEST_TMPDIR"
    cmp "$CHART/values.schema.json" "$BATS_TEST_TMPDIR/values.schema.json"
    # a key is in `config`, or there is a reason
    [ "$(jq -r --slurpfile of "$OCV_TOP/schema/config.schema.json" \
        '($of[0].properties | keys) - (.properties.config.properties | keys) | join(" ")' "$CHART/values.schema.json")" = \
        "choose credentials metrics_listen registries socket state_dir to" ]
}

@test "a slip in config and registries, and no node at a time, are refused before anything is installed" {
    local refused
    helm_here
    for refused in 'config={"polcy": "enforce"}' 'config={"repositories": {"docker.io/a": {"chose": "on"}}}' 'config={"registries": {}}' \
        'config={"choose": "on"}' 'config={"socket": "/x"}' 'config={"state_dir": "/x"}' 'config={"metrics_listen": "10.0.0.1:9340"}' \
        'config={"listen": "127.0.0.1:5050"}' 'config={"listen": "0.0.0.0:340"}' 'config={"policy": true}' \
        'config={"override": {"nvidia": {"cuda_version_lower_bound": [12.10]}}}' 'registries={"docker.io": {"insecur": true}}' \
        'registries={"docker.io": "x"}' maxUnavailable=0 'maxUnavailable="0%"' 'maxUnavailable="1"'; do
        echo "$refused"
        run ! rendered --set-json "$refused"
        [[ $output == *"values don't meet the specifications of the schema"* ]]
    done
}

# the configuration that values make, and what variantd says of it
checked()
{
    rendered "$@" | jq -r 'select(.kind == "ConfigMap") | .data["config.yaml"] // empty' >"$BATS_TEST_TMPDIR/config.yaml"
    cat "$BATS_TEST_TMPDIR/config.yaml"
    "$OCV_BUILD/variantd" --check --config "$BATS_TEST_TMPDIR/config.yaml"
}

@test "words that YAML takes for booleans reach variantd as words, for each key that has such" {
    local value
    helm_here
    for value in true false; do
        jq --argjson value $value '
            def taking($keys): $keys | with_entries(select((.value.enum // [] | index($value) != null) or .value.type == "boolean") | .value = $value);
            .properties.config.properties as $keys | {config: (taking($keys) +
                {repositories: {"docker.io/a/**": taking($keys.repositories.additionalProperties.properties)}})}
            ' "$CHART/values.schema.json" >"$BATS_TEST_TMPDIR/values.json"
        [ "$(jq '[.. | select(. == '$value')] | length' "$BATS_TEST_TMPDIR/values.json")" -ge 7 ]
        run -0 checked --set choose=$value --values "$BATS_TEST_TMPDIR/values.json"
    done
    cat >"$BATS_TEST_TMPDIR/values.yaml" <<'YAML'
config:
  repositories: {"docker.io/a/**": {choose: on, workload: off}, "docker.io/b": null}
  access_log: no
  serve_private: yes
  tag_ttl: 2000000
YAML
    run -0 checked --values "$BATS_TEST_TMPDIR/values.yaml"
    [[ $output == *'choose: "on"'* && $output == *'workload: "off"'* && $output == *'access_log: "off"'* && $output == *'serve_private: true'* ]]
    [[ $output == *'tag_ttl: 2000000'* && $output != *docker.io/b* ]]
}

@test "variantd takes what the examples make: of values.yaml, and of the page" {
    local n=0 file
    helm_here
    mkdir "$BATS_TEST_TMPDIR/examples"
    awk -v dir="$BATS_TEST_TMPDIR/examples" 'sub(/^#   /, "") { if (!inside++) n++; print >(dir "/values-" n); next } { inside = 0 }' "$CHART/values.yaml"
    awk -v dir="$BATS_TEST_TMPDIR/examples" '/^cat >+values.yaml/ || /^# values.yaml/ { n++; inside = 1; next } /^(EOF|```)$/ { inside = 0 }
        inside { print >(dir "/page-" n) }' "$OCV_TOP/docs/kubernetes.md"
    for file in "$BATS_TEST_TMPDIR"/examples/*; do
        echo "$file" && cat "$file"
        run -0 checked --values "$file"
        n=$((n + 1))
    done
    [ $n -ge 5 ]
}

@test "probes ask where variantd listens" {
    helm_here
    ports() { jq -c 'select(.kind == "DaemonSet") | .spec.template.spec.containers[0] | [.readinessProbe, .livenessProbe] | map(.httpGet.port)'; }
    [ "$(rendered | ports)" = "[340,340]" ]
    [ "$(rendered --set config.listen=127.0.0.1:341 | ports)" = "[341,341]" ]
}

@test "the control plane is left out unless asked for, a priority gets its quota, and the removal goes everywhere" {
    helm_here
    away() { jq -r 'select(.kind == "DaemonSet") | .spec.template.spec.affinity.nodeAffinity | tostring | contains("node-role.kubernetes.io/control-plane")'; }
    [ "$(rendered | away)" = true ]
    [ "$(rendered --set controlPlane=true | away)" = false ]
    [ "$(rendered --set remove=true | away)" = false ]
    quota() { jq -c 'select(.kind == "ResourceQuota") | [.spec.hard.pods, .spec.scopeSelector.matchExpressions[0].values[0]]'; }
    [ -z "$(rendered | quota)" ]
    [ "$(rendered --set priorityQuota=2000 | quota)" = '["2000","system-node-critical"]' ]
    [ "$(rendered --set priorityQuota=2000 --set remove=true | quota)" = '["2000","system-node-critical"]' ]
    # what an uninstall leaves brings it along
    rendered --set priorityQuota=2000 | jq -r '.data["remove.yaml"] // empty' | grep -x 'kind: ResourceQuota'
}

@test "announce: nobody may patch a node before the policy is there" {
    local order="ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ClusterRole ClusterRoleBinding "
    [ "$(sed -n 's/^ *\(- \)\{0,1\}kind: \(Validating.*\|Cluster.*Binding\|ClusterRole\)$/\2/p' \
        "$OCV_TOP/contrib/kubernetes/announce.yaml" | awk '!seen[$0]++' | tr '\n' ' ')" = "$order" ]
    helm_here
    [ "$(rendered --set announce=true | jq -r 'select(.kind | test("^Cluster|^Validating")) | .kind' | tr '\n' ' ')" = "$order" ]
    # Helm would sort objects of their own by kind
    [ "$(grep -cE '^kind: (Cluster|Validating)' "$BATS_TEST_TMPDIR/rendered")" = 0 ]
}

@test "announce: a token, for nodes to be patched, where the API server can tell whose it is" {
    local with='.spec.template.spec.containers[0] | [any(.args[]; . == "--announce=kubernetes"), any(.env[]; .name == "NODE_NAME"),
        any(.volumeMounts[]; .mountPath == "/var/run/secrets/kubernetes.io/serviceaccount")] | tostring'
    helm_here
    [ "$(rendered | jq -r "select(.kind == \"DaemonSet\") | $with")" = "[false,false,false]" ]
    [ -z "$(rendered | jq -r 'select(.kind | test("^Cluster|^Validating")) | .kind')" ]
    rendered --set announce=true >"$BATS_TEST_TMPDIR/all"
    [ "$(jq -r "select(.kind == \"DaemonSet\") | $with" "$BATS_TEST_TMPDIR/all")" = "[true,true,true]" ]
    [ "$(jq -c 'select(.kind == "ClusterRole") | .rules' "$BATS_TEST_TMPDIR/all")" = '[{"apiGroups":[""],"resources":["nodes"],"verbs":["patch"]}]' ]
    [ "$(jq -r 'select(.kind | test("^Cluster|^Validating")) | .metadata.name' "$BATS_TEST_TMPDIR/all" | sort -u)" = ocivariant-variantd-announce ]
    run ! rendered --set announce=true --kube-version 1.31.0
    [[ $output == *"announce: Kubernetes 1.32 or newer"* ]]
    # pods that undo the set-up get no such right
    [ -z "$(rendered --set announce=true --set remove=true | jq -r 'select(.kind | test("^Cluster|^Validating")) | .kind')" ]
}

@test "startupTaint: a token, for one taint to be taken away, and for labels only with announce" {
    helm_here
    rules() { jq -r 'select(.kind == "ValidatingAdmissionPolicy") | .spec.validations[].expression'; }
    rendered --set startupTaint=dev.ocivariant/not-ready >"$BATS_TEST_TMPDIR/all"
    [ "$(jq -r 'select(.kind == "DaemonSet") | .spec.template.spec.containers[0] | [any(.args[]; . == "--startup-taint=dev.ocivariant/not-ready"),
        any(.args[]; startswith("--announce")), any(.env[]; .name == "NODE_NAME"), any(.volumeMounts[]; .name == "token")] | tostring' \
        "$BATS_TEST_TMPDIR/all")" = "[true,false,true,true]" ]
    [ "$(jq -c 'select(.kind == "ClusterRole" and (.metadata.name | endswith("announce"))) | .rules' "$BATS_TEST_TMPDIR/all")" = '[{"apiGroups":[""],"resources":["nodes"],"verbs":["patch"]}]' ]
    run -0 rules <"$BATS_TEST_TMPDIR/all"
    [[ $output == *"t.key == 'dev.ocivariant/not-ready' || t in variables.taints"* && $output != *"startsWith('dev.ocivariant/')"* ]]
    run -0 rules < <(rendered --set announce=true)
    [[ $output == *"object.spec == oldObject.spec"* && $output != *taints* ]]
    run -0 rules < <(rendered --set announce=true --set startupTaint=dev.ocivariant/not-ready)
    [[ $output == *"startsWith('dev.ocivariant/')"* && $output == *taints* && $output != *"object.spec == oldObject.spec"* ]]
    run ! rendered --set startupTaint=x --kube-version 1.31.0
    [[ $output == *"startupTaint: Kubernetes 1.32 or newer"* ]]
    run ! rendered --set "startupTaint=a'b"
    # and one pod that ends the wait, which the DaemonSet's selector does not match
    [ "$(jq -r 'select(.kind == "Deployment") | .spec.template | [.metadata.labels["app.kubernetes.io/name"],
        any(.spec.containers[0].args[]; . == "--startup-taint-after=10m")] | tostring' "$BATS_TEST_TMPDIR/all")" = '["variantd-startup-taint",true]' ]
    [ -z "$(rendered --set startupTaint=x --set startupTaintAfter= | jq -r 'select(.kind == "Deployment")')" ]
    [ -z "$(rendered | jq -r 'select(.kind == "Deployment")')" ]
}

@test "an uninstall leaves what undoes the set-up, and says so; after a removal it leaves nothing" {
    helm_here
    kept() { jq -r 'select(.metadata.annotations["helm.sh/resource-policy"] == "keep") | .metadata.name'; }
    run -0 kept < <(rendered)
    [ "$output" = variantd-nodes-are-still-set-up ]
    rendered --set engine=k3s | jq -r 'select(.data["remove.yaml"]) | .data["remove.yaml"]' >"$BATS_TEST_TMPDIR/remove.yaml"
    python3 -c 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))' <"$BATS_TEST_TMPDIR/remove.yaml" | jq -e '
        .kind == "DaemonSet" and .spec.template.spec.initContainers[0].args == ["--root=/host", "--remove"] and
        any(.spec.template.spec.volumes[]; .hostPath.path == "/var/lib/rancher/k3s/agent/etc/containerd") and
        .spec.template.spec.serviceAccountName == null'
    run -0 kept < <(rendered --set remove=true)
    [ -z "$output" ]
    run -0 jq -r .kind < <(rendered --set remove=true)
    [ "$output" = $'ConfigMap\nDaemonSet' ]
}

@test "rules and dashboard are those of the chart, which are installed, too" {
    helm_here
    rendered --set monitoring.podMonitor=true --set monitoring.rules=true --set monitoring.dashboard=true --set monitoring.labels.release=prom >"$BATS_TEST_TMPDIR/all"
    python3 -c 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)["groups"], sort_keys=True))' <"$OCV_TOP/contrib/kubernetes/chart/files/rules.yaml" >"$BATS_TEST_TMPDIR/groups"
    # of this DaemonSet alone
    jq -c -S 'select(.kind == "PrometheusRule") | .spec.groups' "$BATS_TEST_TMPDIR/all" | sed 's/{namespace=\\"ocivariant\\", /{/g' |
        cmp - <(jq -c -S . "$BATS_TEST_TMPDIR/groups")
    grep -qF 'kube_daemonset_status_number_unavailable{namespace="ocivariant", daemonset="variantd"}' "$BATS_TEST_TMPDIR/rendered"
    jq -r 'select(.data["variantd.json"]) | .data["variantd.json"]' "$BATS_TEST_TMPDIR/all" | jq -e '.uid == "ocivariant-variantd" and (tostring | contains("DS_PROMETHEUS}") | not)'
    [ "$(jq -r 'select(.metadata.labels.release == "prom") | .kind' "$BATS_TEST_TMPDIR/all" | sort | tr '\n' ' ')" = "ConfigMap PodMonitor PrometheusRule " ]
    # runbooks are where they are kept
    run -0 jq -r 'select(.kind == "PrometheusRule") | [.spec.groups[].rules[].annotations.runbook_url | split("#")[0]] | unique[]' \
        < <(rendered --set monitoring.rules=true --set monitoring.runbookUrl=https://wiki.example/variantd)
    [ "$output" = https://wiki.example/variantd ]
    # without metrics there is no port
    run -0 rendered --set monitoring.metrics=false
    [[ $output != *hostPort* && $output != *metrics-listen* ]]
}
