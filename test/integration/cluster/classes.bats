#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A node's class is that of the profile it resolves with: where its configuration overrides what was probed, what variantd
# announces, what export prints for each engine and what match makes of any of them agree. The API server is a stand-in
# that keeps what it is told; announce_cluster.bats has a real one.
bats_require_minimum_version 1.5.0

load ../harness
load ../images

ACCOUNT=/run/secrets/kubernetes.io/serviceaccount

setup_file()
{
    require jq nsenter openssl python3 curl
    state_start
    make_variants "$STATE/images"
    printf 'override: {nvidia: {cuda_version_lower_bound: ["12.4", "12.3"]}}\n' >"$STATE/override.yaml"
    : >"$STATE/plain.yaml"
    start_namespace
    within sh -c 'mount -t tmpfs tmpfs /run && mkdir -p '"$ACCOUNT"
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=api -addext subjectAltName=IP:127.0.0.1 \
        -keyout "$STATE/api.key" -out "$STATE/api.crt" 2>/dev/null
    echo token >"$STATE/token"
    within cp "$STATE/api.crt" "$ACCOUNT/ca.crt"
    within cp "$STATE/token" "$ACCOUNT/token"
    start_daemon api python3 -c 'import http.server, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_PATCH(self):
        with open(sys.argv[1] + "/told", "ab") as file:
            file.write(self.rfile.read(int(self.headers["Content-Length"])) + b"\n")
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
server = http.server.HTTPServer(("127.0.0.1", 6443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + "/api.crt", sys.argv[1] + "/api.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
print("listens", flush=True)
server.serve_forever()' "$STATE"
    await api grep -q listens "$STATE/log/api"
}

# what variantd of that configuration tells the API server, as a list of nodes, and /v1/profile
announced() # CONFIG
{
    rm -f "$STATE/told"
    KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT=6443 NODE_NAME=n1 \
        start_daemon variantd "$OCV_BUILD/variantd" --config "$1" --announce kubernetes --profile "$PROFILES/h100.json" \
        --listen 127.0.0.1:5050 --socket "$STATE/variantd.sock" --state-dir "$STATE/state"
    await variantd test -s "$STATE/told"
    within curl --silent --fail --unix-socket "$STATE/variantd.sock" http://localhost/v1/profile >"$STATE/probed.json"
    stop_daemon variantd
    jq -s '{kind: "List", items: [.[0] | {metadata: {name: "n1", labels: .metadata.labels, annotations: .metadata.annotations}}]}' \
        "$STATE/told" >"$STATE/list.json"
}

# the match command's result for the fleet, with a matcher that has no configuration
class_in() { variantctl fleet pack --config "$STATE/plain.yaml" "$1" | jq -r 'select(.name) | .class'; }
chosen_in() { "$VARIANTCTL" match --config "$STATE/plain.yaml" --profiles "$1" --replicas 1 --print-ref "oci:$STATE/images:app"; }

@test "label, annotation, every export and match name one class, with an override and without" {
    local config class want
    local -a flags
    for config in plain override; do
        # what a configuration says of its machine is not said of a profile; a flag is
        flags=()
        [ "$config" = plain ] || flags=(--override 'nvidia::cuda_version_lower_bound=12.4,12.3')
        announced "$STATE/$config.yaml"
        class=$(jq -r '.items[0].metadata.labels["dev.ocivariant/class"]' "$STATE/list.json")
        [[ $class =~ ^[0-9a-f]{12}$ ]]
        # what the node resolves with
        want=$("$VARIANTCTL" resolve --config "$STATE/plain.yaml" "${flags[@]}" --profile "$PROFILES/h100.json" "oci:$STATE/images:app" | jq -r .selected.digest)
        [ "$(class_in "$STATE/list.json")" = "$class" ]
        [ "$(chosen_in "$STATE/list.json")" = "oci:$STATE/images@$want" ]
        # the node's own tools, of the file and of what variantd has probed
        for profile in "$PROFILES/h100.json" "$STATE/probed.json"; do
            [ "$("$VARIANTCTL" export nfd --config "$STATE/plain.yaml" "${flags[@]}" --profile "$profile" | sed -n 's,^dev.ocivariant/class=,,p')" = "$class" ]
            "$VARIANTCTL" export backendai --config "$STATE/plain.yaml" "${flags[@]}" --profile "$profile" >"$STATE/said.json"
            [ "$(jq -r .ocivariant.class "$STATE/said.json")" = "$class" ]
            jq .ocivariant.profile "$STATE/said.json" >"$STATE/n1.json"
            jq -c '{name: "n1", profile: .}' "$STATE/n1.json" >"$STATE/n1.jsonl"
            [ "$(class_in "$STATE/n1.jsonl")" = "$class" ]
            [ "$(chosen_in "$STATE/n1.jsonl")" = "oci:$STATE/images@$want" ]
            [ "$("$VARIANTCTL" export slurm --features --config "$STATE/plain.yaml" "${flags[@]}" --profile "$profile")" = \
                "$("$VARIANTCTL" export slurm --features --config "$STATE/plain.yaml" --profile "$STATE/n1.json")" ]
        done
        echo "$class $want" >>"$STATE/classes"
    done
    # the override is another class, for which another entry is best
    [ "$(cut -d' ' -f1 "$STATE/classes" | sort -u | wc -l)" = 2 ]
    [ "$(cut -d' ' -f2 "$STATE/classes" | sort -u | wc -l)" = 2 ]
}

@test "a matcher with the same override sees the same class: it is not applied twice" {
    announced "$STATE/override.yaml"
    [ "$(variantctl fleet pack --config "$STATE/override.yaml" "$STATE/list.json" | jq -r 'select(.name) | .class')" = \
        "$(jq -r '.items[0].metadata.labels["dev.ocivariant/class"]' "$STATE/list.json")" ]
}
