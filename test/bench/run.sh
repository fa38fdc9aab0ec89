#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make bench: ours and the peers at hand, alternating in one run (A B C A B C), one warm-up round,
# medians. Quote ratios of one run, never times of two. QUICK=1: smaller layers, fewer rounds.
#
# OCV_PEERS=DIR: current versions of the peers, as test/bench/peers.sh DIR makes them. Without it those of this
# machine are measured, and what is missing is said.
#
# OCV_BENCH_PROVIDERS="COMMAND": how the published Python providers are asked here, for instance
# "/opt/venv/bin/variantlib plugins get-supported-configs"; without it they are not measured.
#
# PARTS="probe mirror": only these, of selection resolve match probe print_ref pull mirror verifier cri_proxy
# snapshotter derive slim; the last two want DERIVE_WHEELS, a directory of wheels (test/bench/derive.sh). With
# OCV_BEFORE=DIR also before: our commands beside those of another commit (test/bench/before.sh).
#
# CPU is user and system time of the command's process tree, RSS the peak of its largest process.
# Ours is the installed tree: its tag rules, its providers, its table of rules; what is measured looks at
# this machine as a user's run does, unless a part says otherwise.
#
# The table goes to standard output and to $OCV_BUILD/bench.md (or $RESULT). PLAIN=1: medians only.
set -euo pipefail

cd "$(dirname "$0")/../.."
# shellcheck source=test/integration/harness.bash
. test/integration/harness.bash
# shellcheck source=test/bench/mirror.sh
. test/bench/mirror.sh
# shellcheck source=test/bench/mirror_clients.sh
. test/bench/mirror_clients.sh
# shellcheck source=test/bench/verifier.sh
. test/bench/verifier.sh
# shellcheck source=test/bench/cri.sh
. test/bench/cri.sh
# shellcheck source=test/bench/snapshotter.sh
. test/bench/snapshotter.sh
# shellcheck source=test/bench/fleet.sh
. test/bench/fleet.sh
# shellcheck source=test/bench/derive.sh
. test/bench/derive.sh
# shellcheck source=test/bench/slim.sh
. test/bench/slim.sh
# shellcheck source=test/bench/before.sh
. test/bench/before.sh
# shellcheck source=test/bench/peers.bash
. test/bench/peers.bash
tools=$OCV_BUILD/test/bench
result=${RESULT:-$OCV_BUILD/bench.md}
quick=${QUICK:-}
rounds_small=${QUICK:+7}
rounds_small=${rounds_small:-21}
find_peers
missing=$(for tool in docker-registry skopeo jq nginx curl; do command -v $tool >/dev/null || echo "$tool"; done)
[ -z "$missing" ] || { echo "make bench needs $missing" >&2; exit 1; }

state_start
trap state_stop EXIT
raw=$STATE/raw
mkdir -p "$raw"
installed=$STATE/tree/usr
make -s install BUILD="$OCV_BUILD" DESTDIR="$STATE/tree" PREFIX=/usr >"$STATE/log/install"
VPULL=$installed/bin/vpull
VARIANTCTL=$installed/bin/variantctl
export OCV_DATADIR=$installed/share/ocivariant
export OCV_LIBEXECDIR=$installed/libexec/ocivariant
export STATE_DIRECTORY=$OCV_STATE_DIR # what variantd records must not reach this machine's own records
mkdir -p "$STATE_DIRECTORY"

# alternate ROUNDS PREPARE NAME COMMAND [NAME COMMAND]...: each command is a shell word list; before
# every run PREPARE is called (outside the clock). The first round is not counted.
alternate()
{
    local rounds=$1 prepare=$2 round pair line
    shift 2
    for ((round = 0; round <= rounds; round++)); do
        for ((pair = 1; pair < $#; pair += 2)); do
            local name=${!pair} next=$((pair + 1))
            local -a words
            eval "words=(${!next})"
            $prepare
            line=$("$tools/runone" "${words[@]}")
            if [ "${line##* }" != 0 ]; then
                echo "$name failed with ${line##* }: ${words[*]}" >&2
                "${words[@]}" >&2 || true
                exit 1
            fi
            [ "$round" = 0 ] || echo "$line" >>"$raw/$name"
        done
    done
}

nothing() { :; }

median() # NAME COLUMN
{
    cut -d' ' -f"$2" "$raw/$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# rows OURS PEER...: one table row each, with ratios to ours
rows()
{
    local base=$1 name base_wall base_rss
    base_wall=$(median "$base" 1)
    base_rss=$(median "$base" 3)
    echo "| command | wall ms${PLAIN:- (min-max)} | CPU ms | RSS MiB | ours/it: wall | RSS |" | sed 's/ms1/ms/'
    echo "|---|---|---|---|---|---|"
    for name; do
        [ -e "$raw/$name" ] || continue
        awk -v name="$name" -v wall="$(median "$name" 1)" -v cpu="$(median "$name" 2)" \
            -v rss="$(median "$name" 3)" -v bw="$base_wall" -v br="$base_rss" \
            -v low="$(cut -d' ' -f1 "$raw/$name" | sort -n | head -n 1)" \
            -v high="$(cut -d' ' -f1 "$raw/$name" | sort -n | tail -n 1)" -v plain="${PLAIN:-}" 'BEGIN {
            range = plain ? "" : sprintf(" (%.2f-%.2f)", low, high)
            printf "| %s | %.2f%s | %.2f | %.1f | %.2f | %.2f |\n", name, wall, range,
                cpu, rss / 1024, bw / wall, br / rss }'
    done
}

selection()
{
    echo "## Selection, in one process"
    echo
    echo "N variants with 4 properties each, a host with 120 values, a third fits."
    echo
    if [ -n "${PLAIN:-}" ]; then
        printf '%s\n' "| what | median ms |" "|---|---|"
    else
        printf '%s\n' "| what | median ms | min-max |" "|---|---|---|"
    fi
    "$tools/bench_select" run |
        awk -v plain="${PLAIN:-}" '{
            printf "| %s | %.3f |", $1, $2 / 1e3
            print plain ? "" : sprintf(" %.3f-%.3f |", $3 / 1e3, $4 / 1e3)
        }'
    echo
}

resolve()
{
    local n
    for n in 8 1000; do
        "$tools/bench_select" index $n >"$STATE/index-$n.json"
        alternate "${rounds_small}" nothing \
            "variantctl-resolve-$n" "$VARIANTCTL resolve --index $STATE/index-$n.json --profile $STATE/profile.json" \
            "jq-length-$n" "jq .manifests\|length $STATE/index-$n.json" \
            "true-$n" /bin/true
        echo "## variantctl resolve --index FILE --profile FILE, $n variants, whole process"
        echo
        echo "jq only parses the same file; true is the floor of any process."
        echo
        rows "variantctl-resolve-$n" "jq-length-$n" "true-$n"
        echo
    done
}

# About 30 PCI devices, a GPU among them: a recorded machine, or one made here
machine_of_30()
{
    local recording=${OCV_FIXTURES:-../shared/fixtures}/pci/ghw-linux-amd64-accel-nvidia dir i file target
    if [ -d "$recording" ]; then
        cp -r "$recording" "$STATE/machine"
        chmod -R u+w "$STATE/machine"
        # links may have become files that contain their target
        while IFS= read -r file; do
            target=$(<"$file")
            rm "$file"
            ln -s "$target" "$file"
        done < <(grep -rlE '^[.][.]/' --include=driver --include='*:*' "$STATE/machine/sys" || true)
        return
    fi
    for ((i = 0; i < 30; i++)); do
        dir=$STATE/machine/sys/bus/pci/devices/$(printf '0000:%02x:00.0' $i)
        mkdir -p "$dir"
        echo 0x8086 >"$dir/vendor"
        echo 0x2030 >"$dir/device"
        echo 0x088000 >"$dir/class"
        echo 0x04 >"$dir/revision"
        echo 0x8086 >"$dir/subsystem_vendor"
        echo 0x0000 >"$dir/subsystem_device"
    done
    echo 0x10de >"$dir/vendor"
    echo 0x2330 >"$dir/device"
    echo 0x030200 >"$dir/class"
    mkdir "$STATE/machine/proc"
    cp /proc/cpuinfo "$STATE/machine/proc"
}

probe()
{
    local -a peers=()
    local absent='' devices
    # everything below also reads sysfs, so measure reading one plain entry
    devices=$(find /sys/bus/pci/devices -mindepth 1 2>/dev/null | wc -l)
    machine_of_30
    peer lspci-n lspci "lspci -n"
    peer lstopo lstopo-no-graphics "lstopo-no-graphics --of xml"
    peer python-floor python3 "python3 -c pass"
    if [ -n "${OCV_BENCH_PROVIDERS:-}" ]; then
        peers+=(python-providers "$OCV_BENCH_PROVIDERS")
    else
        absent+="${absent:+, }python-providers (OCV_BENCH_PROVIDERS)"
    fi
    alternate "$rounds_small" nothing \
        variantctl-probe "$VARIANTCTL probe --format json" \
        variantctl-probe-table "$VARIANTCTL probe --format text" "${peers[@]}" \
        true-probe /bin/true
    echo "## variantctl probe, this machine ($devices PCI devices), whole process, warm"
    echo
    echo "The JSON form is the profile; the table looks up the names of devices as well. true is the floor."
    say_absent
    echo
    rows variantctl-probe variantctl-probe-table lspci-n lstopo python-floor python-providers true-probe
    echo
    peers=()
    peer lspci-n-30 lspci "lspci -n -A linux-sysfs -O sysfs.path=$STATE/machine/sys/bus/pci"
    alternate "$rounds_small" nothing \
        variantctl-probe-30 "$VARIANTCTL probe --format json --sysroot $STATE/machine" "${peers[@]}"
    devices=$(find "$STATE/machine/sys/bus/pci/devices" -mindepth 1 -maxdepth 1 | wc -l)
    echo "## variantctl probe --sysroot, $devices PCI devices, a GPU among them, whole process, warm"
    echo
    rows variantctl-probe-30 lspci-n-30
    echo
}

# Eight builds of one image and their index, and an ordinary image, in the registry
publish_index()
{
    local i
    local -a builds=("--default" "oci:$STATE/app:null")
    mkimage "$STATE/app" null --file etc/build=null >"$STATE/log/mkimage"
    for i in 1 2 3 4 5 6 7; do
        mkimage "$STATE/app" "build$i" --file "etc/build=$i" >>"$STATE/log/mkimage"
    done
    for i in 1 2 3 4; do
        builds+=("v$i=oci:$STATE/app:build$i,x86_64 :: level :: v$i")
    done
    for i in 5 6 7; do
        builds+=("cuda12.$i=oci:$STATE/app:build$i,nvidia :: cuda_version_lower_bound :: 12.$i,nvidia :: sm_arch :: 90_real")
    done
    "$VARIANTCTL" index create --quiet --namespaces "nvidia, x86_64" "oci:$STATE/app:index" "${builds[@]}" >>"$STATE/log/mkimage"
    push_layout "$STATE/app:index" "$REGISTRY/bench/app:1"
    push_layout "$STATE/app:null" "$REGISTRY/bench/ordinary:1"
}

print_ref()
{
    local -a peers=()
    local absent='' app=$REGISTRY/bench/app:1
    publish_index
    start_daemon node "$installed/bin/variantd" --listen 127.0.0.1:0 --socket "$STATE/node.sock" \
        --registry "$REGISTRY=http://$REGISTRY"
    await node variantd_ready node
    peer "skopeo-$skopeo_version-inspect-raw" "${skopeo%% *}" "$skopeo inspect --raw --tls-verify=false docker://$app"
    peer "skopeo-$old_skopeo_version-inspect-raw" "$old_skopeo" "$old_skopeo inspect --raw --tls-verify=false docker://$app"
    peer "crane-$crane_version-digest-platform" "$crane" "$crane digest --insecure --platform linux/amd64 $app"
    peer "regctl-$regctl_version-digest-platform" "$regctl" "$regctl --host reg=$REGISTRY,tls=disabled image digest --platform linux/amd64 $app"
    peer "oras-$oras_version-resolve" "${oras%% *}" "$oras resolve --plain-http --platform linux/amd64 $app"
    peers+=(curl-head "curl --silent --head http://$REGISTRY/v2/bench/app/manifests/1")
    alternate $((3 * rounds_small)) nothing \
        vpull-print-ref "$VPULL --print-ref $REGISTRY/bench/app:1" \
        vpull-print-ref-of-daemon "OCV_SOCKET=$STATE/node.sock $VPULL --print-ref $REGISTRY/bench/app:1" \
        vpull-print-ref-ordinary "$VPULL --print-ref $REGISTRY/bench/ordinary:1" "${peers[@]}"
    stop_daemon node
    echo "## Tag to digest, 8 entries, $registry_name on loopback, whole process"
    echo
    echo "vpull probes this machine, but for of-daemon, which asks variantd. ordinary is an"
    echo "image without variants, for which the tag rules are looked at. The peers choose by platform, or nothing;"
    echo "curl-head is what curl itself takes to ask with libcurl, without probing and choosing."
    say_absent
    echo
    peer_rows vpull-print-ref vpull-print-ref-of-daemon vpull-print-ref-ordinary
    echo
}

fresh_target()
{
    rm -rf "$STATE/target"
    sync
}

# with_sync COMMAND: a peer that does not fsync, followed by a sync that makes its result as safe
with_sync()
{
    echo "sh -c '$1 && sync -f $STATE/target'"
}

pull()
{
    local unit=64M i large=256M rounds=5
    local -a layers=()
    if [ -n "$quick" ]; then
        unit=8M large=32M rounds=3
    fi
    for i in 1 2 3 4 5 6 7 8; do
        layers+=(--layer "$unit")
    done
    layers+=(--layer "$large")
    mkimage "$STATE/large" large "${layers[@]}" >>"$STATE/log/mkimage"
    push_layout "$STATE/large:large" "$REGISTRY/bench/large:1"
    rm -rf "$STATE/large"
    local -a peers=()
    local absent=''
    local copy="--insecure-policy copy --preserve-digests --src-tls-verify=false docker://$REGISTRY/bench/large:1 oci:$STATE/target:1"
    peer "skopeo-$skopeo_version-copy" "${skopeo%% *}" "$skopeo $copy"
    peer "skopeo-$old_skopeo_version-copy" "$old_skopeo" "$old_skopeo $copy"
    peer "crane-$crane_version-pull" "$crane" "$(with_sync "$crane pull --insecure --format=oci $REGISTRY/bench/large:1 $STATE/target")"
    peer "regctl-$regctl_version-copy" "$regctl" \
        "$(with_sync "$regctl --host reg=$REGISTRY,tls=disabled image copy $REGISTRY/bench/large:1 ocidir://$STATE/target:1")"
    peer "oras-$oras_version-cp" "${oras%% *}" "$(with_sync "$oras cp --from-plain-http --to-oci-layout $REGISTRY/bench/large:1 $STATE/target:1")"
    alternate $rounds fresh_target \
        vpull-oci "$VPULL --quiet --to oci:$STATE/target:1 $REGISTRY/bench/large:1" "${peers[@]}"
    echo "## Pull of 8 x $unit + $large uncompressed layers to an OCI layout, $registry_name on loopback"
    echo
    echo "Everything is on disk at the end: vpull and skopeo fsync, the others are followed by sync -f."
    say_absent
    echo
    peer_rows vpull-oci
    echo
}

# shellcheck disable=SC2119 # plain HTTP is what an empty list of options means
start_registry
"$tools/bench_select" profile >"$STATE/profile.json"
{
    echo "# Benchmarks"
    echo
    echo "$(nproc) processors, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), Linux $(uname -r)," \
        "TCP $(</proc/sys/net/ipv4/tcp_congestion_control)${quick:+; quick run, smaller sizes}."
    echo "Peers: $(peer_versions)."
    echo
    for part in ${PARTS:-selection resolve match probe print_ref pull mirror verifier cri_proxy snapshotter derive slim ${OCV_BEFORE:+before}}; do
        "$part"
    done
} | tee "$result"
