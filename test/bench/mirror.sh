# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# The mirror beside nginx's proxy_cache and the registry, for run.sh. Every cell runs a few times,
# the servers in turn, and its median is shown: one load thread (hload.c) shares the processors with
# the servers. All of them answer the same HEAD with all that clients accept; nginx is warm, and
# variantd has seen the tag.
#
# shellcheck disable=SC2016 # awk's own variables stand in single quotes
# shellcheck disable=SC2154 # tools, raw and STATE are run.sh's

MIRROR_ACCEPT='Accept: application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, */*'

# index_of N: an index of N entries in the registry as bench/of-N:1, as its children want it
index_of()
{
    local n=$1 dir=$STATE/index-of-$1 config config_size i
    local url="http://$REGISTRY/v2/bench/of-$1"
    mkdir "$dir"
    printf '{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}' >"$dir/config"
    config=$(sha256sum <"$dir/config" | cut -d' ' -f1)
    config_size=$(stat -c %s "$dir/config")
    curl -sf -o "$dir/out" --data-binary "@$dir/config" -H 'Content-Type: application/octet-stream' -X PUT \
        "$(curl -sf -o "$dir/out" -w '%header{location}' -X POST "$url/blobs/uploads/")&digest=sha256:$config"
    for ((i = 1; i <= n; i++)); do
        printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:%s","size":%d},"layers":[],"annotations":{"entry":"%d"}}' \
            "$config" "$config_size" "$i" >"$dir/$(printf '%05d' "$i").json"
    done
    (cd "$dir" && sha256sum -- *.json) | awk -v dir="$dir" -v url="$url" '{
        if (NR > 1) print "next"
        print "silent\nfail\nrequest = PUT\nheader = \"Content-Type: application/vnd.oci.image.manifest.v1+json\""
        print "data-binary = \"@" dir "/" $2 "\"\noutput = /dev/null\nurl = \"" url "/manifests/sha256:" $1 "\"" }' >"$dir/puts"
    curl --config "$dir/puts"
    (cd "$dir" && for i in *.json; do echo "$(sha256sum "$i") $(stat -c %s "$i")"; done) |
        jq -R 'split(" ") | {digest: ("sha256:" + .[0]), size: (.[3] | tonumber)}' | jq -s . >"$dir/descriptors"
    "$tools/bench_select" index "$n" |
        jq -c --slurpfile d "$dir/descriptors" '.manifests |= [range(length) as $i | .[$i] + $d[0][$i]]' >"$dir/index"
    curl -sf -o "$dir/out" -X PUT --data-binary "@$dir/index" \
        -H 'Content-Type: application/vnd.oci.image.index.v1+json' "$url/manifests/1"
    rm -r "$dir"
}

start_nginx()
{
    nginx_port=$(free_port)
    cat >"$STATE/nginx.conf" <<CONF
daemon off;
user root;
worker_processes $(nproc);
pid $STATE/nginx.pid;
error_log $STATE/log/nginx-error;
events { worker_connections 1024; }
http {
    access_log off;
    sendfile on;
    tcp_nopush off;
    keepalive_requests 100000000;
    client_body_temp_path $STATE/nginx-body;
    proxy_temp_path $STATE/nginx-temp;
    proxy_cache_path $STATE/nginx-cache keys_zone=all:10m;
    server {
        listen 127.0.0.1:$nginx_port;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        location / {
            proxy_pass http://$REGISTRY;
            proxy_cache all;
            proxy_cache_valid 200 1h;
        }
        location /pass/ {
            proxy_pass http://$REGISTRY/;
            proxy_max_temp_file_size 0;
            proxy_buffers 16 64k;
        }
    }
}
CONF
    [ "$(id -u)" = 0 ] || sed -i '/^user/d' "$STATE/nginx.conf"
    start_daemon nginx nginx -c "$STATE/nginx.conf"
    await nginx curl -sf "http://127.0.0.1:$nginx_port/v2/"
}

variantd_ready()
{
    grep -q 'mirror on' "$STATE/log/$1"
}

# start_bench_variantd NAME OPTION...: sets the variable NAME_at to its address
start_bench_variantd()
{
    local name=$1
    shift
    start_daemon "$name" "$installed/bin/variantd" --listen 127.0.0.1:0 --socket "$STATE/$name.sock" \
        --registry "$REGISTRY=http://$REGISTRY" --profile "$STATE/profile.json" "$@"
    await "$name" variantd_ready "$name"
    printf -v "${name}_at" '%s' "127.0.0.1:$(sed -n 's/.*mirror on [^ ]*:\([0-9][0-9]*\) .*/\1/p' "$STATE/log/$name")"
}

# pids NAME: the daemon's process and its children, as options of hload; nginx's cache loader is one
# that ends after a minute
pids()
{
    local pid child
    local -a children
    pid=$(<"$STATE/pids/$1")
    read -r -a children <"/proc/$pid/task/$pid/children" || true
    printf -- '-p %s ' "$pid"
    for child in "${children[@]}"; do
        grep -qs 'cache loader' "/proc/$child/cmdline" || printf -- '-p %s ' "$child"
    done
}

# load FILE OPTION... URL: one measurement, appended to $raw/FILE; a wrong answer stops the
# benchmark
load()
{
    local file=$1
    shift
    "$tools/hload" -H "$MIRROR_ACCEPT" "$@" >>"$raw/$file"
    if [ "$(tail -n 1 "$raw/$file" | cut -d' ' -f2)" != 0 ]; then
        echo "$file: wrong answers: $(tail -n 1 "$raw/$file")" >&2
        exit 1
    fi
}

# of_runs FILE EXPRESSION: the median of an awk expression over the runs
of_runs()
{
    awk "{ print $2 }" "$raw/$1" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

tag_path()
{
    echo "v2/bench/of-$1/manifests/1"
}

# Requests per second, CPU time per request, and the goals: nginx's rate, and 20 times the registry's at 16 and
# 64 connections.
remembered()
{
    local n c round server
    for n in 8 200 1000; do
        for ((round = 0; round < mirror_rounds; round++)); do
            for c in 1 16 64; do
                # shellcheck disable=SC2046 # pids gives a list of options, here and below
                load "tag-$n-$c-registry" -c $c -t "$cell" $(pids registry) "http://$REGISTRY/$(tag_path $n)"
                # shellcheck disable=SC2046
                load "tag-$n-$c-nginx" -c $c -t "$cell" $(pids nginx) "http://127.0.0.1:$nginx_port/$(tag_path $n)"
                # shellcheck disable=SC2046
                load "tag-$n-$c-variantd" -c $c -t "$cell" $(pids remembering) \
                    "http://$remembering_at/$(tag_path $n)?ns=$REGISTRY"
                [ $n = 8 ] || continue
                # shellcheck disable=SC2046
                load "tag-$n-$c-variantd+log" -c $c -t "$cell" $(pids logging) \
                    "http://$logging_at/$(tag_path $n)?ns=$REGISTRY"
            done
        done
    done
    echo "## HEAD of a tag, remembered (--tag-ttl 1h)"
    echo
    echo "nginx is a warm proxy_cache, the registry is $registry_name. Asked: nginx's rate, and 20 times the registry's at 16"
    echo "and 64 connections."
    echo "No server writes an access log, but variantd+log, to a file."
    echo
    echo "| entries | connections | server | requests/s | p50, p99 us | server's CPU us each | variantd's rate to its |"
    echo "|---|---|---|---|---|---|---|"
    for n in 8 200 1000; do
        for c in 1 16 64; do
            for server in variantd variantd+log nginx registry; do
                [ -e "$raw/tag-$n-$c-$server" ] || continue
                awk -v n=$n -v c=$c -v server=$server -v rate="$(of_runs "tag-$n-$c-$server" '$1 / $3')" \
                    -v ours="$(of_runs "tag-$n-$c-variantd" '$1 / $3')" \
                    -v cpu="$(of_runs "tag-$n-$c-$server" '$6 / $1')" \
                    -v p50="$(median "tag-$n-$c-$server" 4)" -v p99="$(median "tag-$n-$c-$server" 5)" 'BEGIN {
                    printf "| %d | %d | %s | %d | %d, %d | %.1f | %s |\n", n, c, server, rate, p50, p99, cpu,
                        server ~ "variantd" ? "" : sprintf("%.2f", ours / rate) }'
            done
        done
    done
    echo
}

# Without a time-to-live every HEAD asks upstream. Sixteen tags: requests for one would share a look-up.
revalidating()
{
    local round c i
    local -a direct=() ours=()
    for ((i = 1; i <= 16; i++)); do
        curl -sf -H "$MIRROR_ACCEPT" "http://$REGISTRY/$(tag_path 8)" |
            curl -sf -X PUT --data-binary @- -H 'Content-Type: application/vnd.oci.image.index.v1+json' \
                "http://$REGISTRY/v2/bench/of-8/manifests/tag$i"
        direct+=("http://$REGISTRY/v2/bench/of-8/manifests/tag$i")
        ours+=("http://$asking_at/v2/bench/of-8/manifests/tag$i?ns=$REGISTRY")
    done
    for ((round = 0; round < mirror_rounds; round++)); do
        for c in 1 16; do
            # shellcheck disable=SC2046
            load "again-$c-registry" -c $c -t "$cell" $(pids registry) "${direct[@]}"
            # shellcheck disable=SC2046
            load "again-$c-variantd" -c $c -t "$cell" $(pids asking) "${ours[@]}"
        done
    done
    echo "## HEAD of a tag, asked upstream every time (the default)"
    echo
    echo "16 tags of 8 entries, unchanged. Asked: at most 300 us of CPU added to the upstream's."
    echo
    echo "| connections | server | requests/s | p50, p99 us | server's CPU us each |"
    echo "|---|---|---|---|---|"
    for c in 1 16; do
        for server in variantd registry; do
            awk -v c=$c -v server=$server -v rate="$(of_runs "again-$c-$server" '$1 / $3')" \
                -v cpu="$(of_runs "again-$c-$server" '$6 / $1')" \
                -v p50="$(median "again-$c-$server" 4)" -v p99="$(median "again-$c-$server" 5)" 'BEGIN {
                printf "| %d | %s | %d | %d, %d | %.0f |\n", c, server, rate, p50, p99, cpu }'
        done
    done
    echo
}

# push_blob SIZE: random bytes in the registry; prints the path
push_blob()
{
    local digest
    head -c "$1" /dev/urandom >"$STATE/blob"
    digest=$(sha256sum <"$STATE/blob" | cut -d' ' -f1)
    curl -sf --data-binary "@$STATE/blob" -H 'Content-Type: application/octet-stream' -X PUT \
        "$(curl -sf -o "$STATE/out" -w '%header{location}' -X POST "http://$REGISTRY/v2/bench/blobs/blobs/uploads/")&digest=sha256:$digest"
    rm "$STATE/blob"
    echo "v2/bench/blobs/blobs/sha256:$digest"
}

sha256_cost()
{
    openssl speed -seconds 1 -bytes 65536 -evp sha256 2>/dev/null |
        awk '/^sha256/ { gsub("k", "", $2); printf "%.2f", 1e6 / $2 }'
}

# Without a limit three programs share the processors, and what any of them does slows the others:
# a client at the rate of a link shows what a node sees. Every request is read to its end: what lies in
# sockets when a run is broken off was paid for, and would not be counted.
streaming()
{
    local large small round c path rate name server n sha256
    large=$(push_blob "$([ -n "${QUICK:-}" ] && echo 64M || echo 512M)")
    small=$(push_blob 8M)
    sha256=$(sha256_cost)
    for ((round = 0; round < mirror_rounds; round++)); do
        for c in 1 16 64; do
            path=$large
            [ $c = 1 ] || path=$small
            for rate in 0 125000000 1250000000; do
                n=$((rate == 0 ? 4 * c : c))
                # shellcheck disable=SC2046
                load "blob-$c-$rate-registry" -X GET -c $c -r $rate -n $n $(pids registry) "http://$REGISTRY/$path"
                # shellcheck disable=SC2046
                load "blob-$c-$rate-variantd" -X GET -c $c -r $rate -n $n $(pids asking) "http://$asking_at/$path"
                # shellcheck disable=SC2046
                load "blob-$c-$rate-nginx" -X GET -c $c -r $rate -n $n $(pids nginx) \
                    "http://127.0.0.1:$nginx_port/pass/$path"
            done
        done
    done
    echo "## Blobs, direct and through variantd"
    echo
    echo "Asked: 90 % of direct, and under 48 MiB with 64 streams. The registry hands files to the kernel unread;"
    echo "variantd reads and checks every byte: SHA-256 alone takes $sha256 s/GB of one processor here, and"
    echo "client, daemon and registry share $(nproc). Loopback is therefore no link to be measured against alone."
    echo "nginx passes the same bytes without looking at them: what any proxy between two sockets costs here."
    echo "Asked of variantd on loopback: at most 1.15 times the processor time of nginx and SHA-256 together."
    echo
    echo "| streams | link | server | MB/s | to direct | its CPU s/GB | to nginx + SHA-256 | its peak RSS MiB |"
    echo "|---|---|---|---|---|---|---|---|"
    for c in 1 16 64; do
        for rate in 125000000 1250000000 0; do
            name="$((rate / 125000000)) Gbit/s"
            [ $rate != 0 ] || name=loopback
            for server in variantd nginx registry; do
                awk -v c=$c -v name="$name" -v server=$server -v rate="$(of_runs "blob-$c-$rate-$server" '$7 / $3 / 1e6')" \
                    -v direct="$(of_runs "blob-$c-$rate-registry" '$7 / $3 / 1e6')" \
                    -v cpu="$(of_runs "blob-$c-$rate-$server" '$6 / $7 * 1e3')" \
                    -v nginx="$(of_runs "blob-$c-$rate-nginx" '$6 / $7 * 1e3')" -v sha256="$sha256" \
                    -v peak="$(of_runs "blob-$c-$rate-$server" '$8 / 1024')" 'BEGIN {
                    printf "| %d | %s | %s | %d | %.2f | %.2f | %s | %.1f |\n", c, name, server, rate, rate / direct,
                        cpu, server == "variantd" ? sprintf("%.2f", cpu / (nginx + sha256)) : "", peak }'
            done
        done
    done
    echo
}

rss()
{
    awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$(<"$STATE/pids/$1")/status"
}

readiness()
{
    local round
    local -a common=("$tools/mirror_ready" "$installed/bin/variantd" --listen 127.0.0.1:0
        --socket "$STATE/ready.sock" --registry "$REGISTRY=http://$REGISTRY")
    for ((round = 0; round < 5 * mirror_rounds; round++)); do
        "${common[@]}" 2>>"$STATE/log/ready" >>"$raw/ready-probe"
        "${common[@]}" --profile "$STATE/profile.json" 2>>"$STATE/log/ready" >>"$raw/ready-file"
    done
}

# One hundred thousand requests, with each answer checked
many()
{
    local digest
    digest=$(curl -sfI -H "$MIRROR_ACCEPT" "http://$remembering_at/$(tag_path 8)?ns=$REGISTRY" |
        tr -d '\r' | sed -n 's/^[Dd]ocker-[Cc]ontent-[Dd]igest: //p')
    load many-head -c 64 -n 50000 -d "$digest" "http://$remembering_at/$(tag_path 8)?ns=$REGISTRY"
    load many-get -X GET -c 64 -n 50000 -d "$digest" "http://$remembering_at/$(tag_path 8)?ns=$REGISTRY"
}

in_all()
{
    readiness
    many
    echo "## Memory, errors, start"
    echo
    echo "| what | measured | asked |"
    echo "|---|---|---|"
    echo "| resident, just started | $idle_start MiB | < 14 MiB |"
    echo "| resident, one request asked upstream | $idle_asked MiB | < 14 MiB |"
    sleep 12 # lets threads end that waited for registries
    echo "| resident, after all of the above and a pause | $(rss asking) MiB (upstream asked), $(rss remembering) MiB (remembered) | < 14 MiB |"
    echo "| resident, 64 blob streams | $(awk '{ if ($8 > m) m = $8 } END { printf "%.1f", m / 1024 }' "$raw"/blob-64-*-variantd) MiB | < 48 MiB |"
    echo "| wrong answers to 50,000 HEAD and 50,000 GET | $(awk '{ e += $2 } END { print e + 0 }' "$raw"/many-*) | 0 |"
    echo "| start to ready, this node probed | $(of_runs ready-probe '$1') ms | < 50 ms |"
    echo "| start to ready, profile from a file | $(of_runs ready-file '$1') ms | < 50 ms |"
    echo
}

mirror()
{
    local n idle_start idle_asked
    mirror_rounds=${QUICK:+1}
    mirror_rounds=${mirror_rounds:-3}
    cell=${QUICK:+0.5}
    cell=${cell:-1}
    for n in 8 200 1000; do
        index_of $n
    done
    start_nginx
    start_bench_variantd remembering --tag-ttl 1h --access-log off
    start_bench_variantd logging --tag-ttl 1h
    start_bench_variantd asking --access-log off
    sleep 0.2
    idle_start=$(rss asking)
    curl -sfI -o "$STATE/out" -H "$MIRROR_ACCEPT" "http://$asking_at/$(tag_path 8)?ns=$REGISTRY"
    idle_asked=$(rss asking)
    remembered
    revalidating
    streaming
    real_clients
    in_all
}
