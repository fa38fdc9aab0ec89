#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# containerd with our snapshotter, as its users use it: pull, run, commit, many layers, many
# snapshots, parallel pulls, removal with garbage collection, and both sides dying in between.

load ../harness
load ../snapshotter

setup_file()
{
    require containerd ctr runc skopeo docker-registry sqlite3
    [ "$(id -u)" = 0 ] || skip "needs root"
    state_start
    start_registry
    # shellcheck disable=SC2153 # of the harness
    echo 'policy: off' >"$STATE/snapshotter.yaml"
    busybox_image "$STATE/images" app --file etc/greeting=hello --layer 300000 --layer 100000 3>&-
    local i layers=()
    for ((i = 0; i < 59; i++)); do
        layers+=(--layer $((1000 + i)))
    done
    busybox_image "$STATE/images" deep "${layers[@]}" 3>&-
    for i in 1 2 3 4 5 6; do # a common base, and a top layer for each
        busybox_image "$STATE/images" "many$i" --layer 200000 --layer $((300000 + i)) 3>&-
    done
    busybox_image "$STATE/images" big --layer 30M --layer 20M --layer 10M --gzip 3>&-
    for i in app deep many{1..6} big; do
        skopeo copy --quiet --dest-tls-verify=false "oci:$STATE/images:$i" "docker://$REGISTRY/$i:1" 3>&-
    done
    start_snapshotter
    COLLECTOR=told start_snapshotted
}

# daemons end with the test that started them
setup()
{
    stop_daemon containerd
    stop_daemon snapshotter
    start_snapshotter
    restart_snapshotted
}

pull()
{
    timeout 120 ctr images pull --plain-http --snapshotter "${2:-ocivariant}" "$REGISTRY/$1:1" \
        >"$STATE/log/pull-$1" 2>&1 3>&- || {
        tail -n 1 "$STATE/log/pull-$1"
        return 1
    }
}

# Everything away; after one collection nothing is left of it.
nothing_left()
{
    local name
    for name in $(ctr leases ls -q); do # of pulls that were killed: kept for a day
        ctr leases rm "$name" >/dev/null
    done
    for name in $(ctr images ls -q); do
        ctr images rm "$name" >/dev/null
    done
    collect
    [ -n "$(ls -A "$STATE/snapshotter/snapshots")" ] || return 0
    echo "left over: $(ls -A "$STATE/snapshotter/snapshots")"
    ctr snapshots --snapshotter ocivariant ls
    return 1
}

directories()
{
    find "$STATE/snapshotter/snapshots" -mindepth 1 -maxdepth 1 -printf '%f\n'
}

# Rows and directories agree, at the first look, and neither is damaged. Nobody may be at work meanwhile:
# containerd's collector waits to be told, and its clients have ended.
consistent()
{
    diff <(sqlite3 "$STATE/snapshotter/metadata.db" 'SELECT id FROM snapshots' | sort) <(directories | sort)
    [ "$(sqlite3 "$STATE/snapshotter/metadata.db" 'PRAGMA integrity_check')" = ok ]
}

# Nobody at work: containerd has ended, and the snapshotter finished what it was asked. Both come back.
at_rest()
{
    stop_daemon containerd
    stop_snapshotter TERM
    consistent
    start_snapshotter
    restart_snapshotted
}

@test "pull, run, write, and remove: nothing is left" {
    pull app
    [ "$(ctr snapshots --snapshotter ocivariant ls | grep -c Committed)" = 3 ]
    run -0 ctr_run "$REGISTRY/app:1" c1 /bin/tool is /etc/greeting hello
    run -0 ctr_run "$REGISTRY/app:1" c2 /bin/tool write /etc/greeting other
    run -0 ctr_run "$REGISTRY/app:1" c3 /bin/tool is /etc/greeting hello # each container writes into its own layer
    run -0 ctr snapshots --snapshotter ocivariant usage
    [[ $output == *sha256:* ]]
    nothing_left
}

@test "the same names, parents, sizes and labels as containerd's own overlayfs" {
    pull app
    pull app overlayfs
    ctr snapshots --snapshotter ocivariant ls | tr -s ' ' >"$STATE/ours"
    ctr snapshots --snapshotter overlayfs ls | tr -s ' ' >"$STATE/theirs"
    diff <(sort "$STATE/ours") <(sort "$STATE/theirs")
    diff <(ctr snapshots --snapshotter ocivariant usage | tr -s ' ' | sort) \
        <(ctr snapshots --snapshotter overlayfs usage | tr -s ' ' | sort)
    local name names
    mapfile -t names < <(awk '/sha256:/ { print $1 }' "$STATE/ours")
    for name in "${names[@]}"; do
        diff <(ctr snapshots --snapshotter ocivariant info "$name" | jq -S 'del(.Created, .Updated)') \
            <(ctr snapshots --snapshotter overlayfs info "$name" | jq -S 'del(.Created, .Updated)')
    done
    nothing_left
}

@test "mounts are those of containerd's overlayfs, down to the options" {
    local which
    for which in ocivariant overlayfs; do
        pull app $which
        name=$(ctr snapshots --snapshotter $which ls | awk '$3 == "Committed" { print $1 }' | tail -n 1)
        {
            ctr snapshots --snapshotter $which prepare --target "$STATE/m" none
            ctr snapshots --snapshotter $which view --target "$STATE/m" lone
            ctr snapshots --snapshotter $which prepare --target "$STATE/m" rw "$name"
            ctr snapshots --snapshotter $which view --target "$STATE/m" ro "$name"
        } | sed -E 's#/[^ ,:=]*/snapshots/[0-9]+/#DIR/#g' >"$STATE/mounts-$which"
        for key in none lone rw ro; do
            ctr snapshots --snapshotter $which rm $key
        done
    done
    sort_options() { sed 's/.*-o //' "$1" | tr -s ', ' '\n' | sort; }
    diff <(sort_options "$STATE/mounts-ocivariant") <(sort_options "$STATE/mounts-overlayfs")
    grep -q overlay "$STATE/mounts-ocivariant"
    nothing_left
}

@test "a committed change is what the next snapshot begins with" {
    pull app
    local top
    top=$(sqlite3 "$STATE/snapshotter/metadata.db" "SELECT name FROM snapshots WHERE kind = 3 AND id NOT IN (SELECT parent FROM snapshots WHERE parent NOT NULL)")
    top=${top##*/}
    mkdir -p "$STATE/mnt"
    eval "$(ctr snapshots --snapshotter ocivariant prepare --target "$STATE/mnt" work "$top")"
    echo changed >"$STATE/mnt/etc/greeting"
    rm "$STATE/mnt/bin/tool"
    umount "$STATE/mnt"
    ctr snapshots --snapshotter ocivariant commit committed-change work
    eval "$(ctr snapshots --snapshotter ocivariant view --target "$STATE/mnt" look committed-change)"
    [ "$(cat "$STATE/mnt/etc/greeting")" = changed ]
    [ ! -e "$STATE/mnt/bin/tool" ]
    run -1 touch "$STATE/mnt/new" # a view
    umount "$STATE/mnt"
    run -1 ctr snapshots --snapshotter ocivariant rm committed-change
    [[ $output == *child* ]]
    ctr snapshots --snapshotter ocivariant rm look
    ctr snapshots --snapshotter ocivariant rm committed-change
    nothing_left
}

@test "sixty layers" {
    pull deep
    [ "$(directories | wc -l)" = 60 ]
    run -0 ctr_run "$REGISTRY/deep:1" d1 /bin/tool echo deep
    nothing_left
}

@test "six images that share layers, pulled at once" {
    local i pids=()
    for i in 1 2 3 4 5 6; do
        pull "many$i" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        wait "$i"
    done
    # two in common, six tops
    [ "$(ctr snapshots --snapshotter ocivariant ls | grep -c Committed)" = 8 ]
    for i in 1 2 3 4 5 6; do
        run -0 ctr_run "$REGISTRY/many$i:1" "m$i" /bin/tool echo "many$i"
    done
    at_rest
    nothing_left
}

@test "killed in the middle of pulls, the snapshotter comes back and the pull is done again" {
    local delay failed=0 amidst=0
    for delay in 0.02 0.05 0.1 0.15 0.25 0.5; do
        pull big &
        pull=$!
        sleep "$delay"
        stop_snapshotter KILL
        ! kill -0 $pull 2>/dev/null || amidst=$((amidst + 1))
        start_snapshotter
        wait $pull || failed=$((failed + 1))
        reconnected
        ctr images rm --sync "$REGISTRY/big:1" >/dev/null 2>&1 || true
    done
    echo "$failed of 6 pulls noticed, $amidst were not done"
    [ "$amidst" -gt 0 ]
    at_rest
    pull big
    run -0 ctr_run "$REGISTRY/big:1" big1 /bin/tool echo alive
    nothing_left
    at_rest
}

@test "containerd killed in the middle of a pull: what it left is collected" {
    local i failed=0
    for i in 2 5 8; do
        pull big &
        pull=$!
        sleep "0.$i"
        kill -KILL "$(<"$STATE/pids/containerd")"
        wait $pull || failed=$((failed + 1))
        stop_daemon containerd
        restart_snapshotted
    done
    [ "$failed" -gt 0 ] # or it was killed when all was done
    pull big
    run -0 ctr_run "$REGISTRY/big:1" big2 /bin/tool echo alive
    nothing_left
    at_rest
}

@test "a container survives the restart of either side" {
    pull app
    local long=long-$$ # runc's names are the machine's
    ctr run -d --snapshotter ocivariant "$REGISTRY/app:1" "$long" /bin/tool sleep 3>&-
    stop_snapshotter TERM
    start_snapshotter
    reconnected
    run -0 ctr task exec --exec-id e1 "$long" /bin/tool is /etc/greeting hello 3>&-
    stop_snapshotter KILL
    start_snapshotter
    reconnected
    run -0 ctr_run "$REGISTRY/app:1" next /bin/tool echo next
    ctr task kill -s KILL "$long"
    for _ in {1..100}; do
        ctr task rm "$long" >/dev/null 2>&1 && break
        sleep 0.1
    done
    ctr container rm "$long"
    nothing_left
}

@test "a thousand snapshots" {
    pull app
    local top
    top=$(sqlite3 "$STATE/snapshotter/metadata.db" "SELECT name FROM snapshots WHERE kind = 3 AND id NOT IN (SELECT parent FROM snapshots WHERE parent NOT NULL)")
    seq 1000 | xargs -P 4 -I{} ctr snapshots --snapshotter ocivariant prepare many-{} "${top##*/}" >/dev/null 3>&-
    [ "$(ctr snapshots --snapshotter ocivariant ls | grep -c '^many-')" = 1000 ]
    grep VmHWM "/proc/$(<"$STATE/pids/snapshotter")/status"
    [ "$(awk '/VmHWM/ { print $2 }' "/proc/$(<"$STATE/pids/snapshotter")/status")" -lt 16384 ]
    seq -f 'many-%g' 1000 | xargs -n 250 ctr snapshots --snapshotter ocivariant rm 3>&-
    at_rest
    nothing_left
}

# ended, if only as a zombie of this shell
snapshotter_died()
{
    local i state
    for ((i = 0; i < 100; i++)); do
        state=$(awk '{ print $3 }' "/proc/$(<"$STATE/pids/snapshotter")/stat" 2>/dev/null) || return 0
        [ "$state" != Z ] || return 0
        sleep 0.05
    done
    return 1
}

# The first look is at what the restarted snapshotter finds and makes of it, with containerd away: no
# collection has healed anything.
@test "killed at every step, nothing is half done and nothing is left over" {
    local point kind
    local snapshots=(ctr snapshots --snapshotter ocivariant)
    for point in create-row create-directory create-fs create-placed create-done commit-row \
        commit-done remove-row remove-done remove-directory cleanup-aside; do
        "${snapshots[@]}" prepare base >/dev/null
        stop_daemon containerd
        stop_snapshotter TERM
        [ $point != cleanup-aside ] || mkdir -p "$STATE/snapshotter/snapshots/4711/fs"
        SNAPSHOTTER=$OCV_BUILD/test/tools/snapshotter-crash
        export OCV_CRASH_AT=$point
        start_snapshotter 2>/dev/null || true # the clean-up at its start is one of the steps
        unset OCV_CRASH_AT
        SNAPSHOTTER=$OCV_BIN/ocivariant-snapshotter
        restart_snapshotted
        case $point in
        create-*) run "${snapshots[@]}" prepare next ;;
        commit-*) run "${snapshots[@]}" commit finished base ;;
        remove-*)
            "${snapshots[@]}" rm base
            run ctr content prune references
            ;;
        esac
        snapshotter_died
        stop_daemon containerd
        rm -f "$STATE/pids/snapshotter"
        start_snapshotter
        echo "$point: $(rows_of "count(*)") snapshots"
        consistent
        [ "$(rows_of 'count(*)')" = "$(expected_rows $point)" ]
        restart_snapshotted
        for kind in next finished base; do
            "${snapshots[@]}" rm $kind >/dev/null 2>&1 || true
        done
        "${snapshots[@]}" prepare again >/dev/null
        "${snapshots[@]}" commit again-done again
        "${snapshots[@]}" rm again-done
        nothing_left
    done
}

rows_of()
{
    sqlite3 "$STATE/snapshotter/metadata.db" "SELECT $1 FROM snapshots"
}

# What was answered, or could have been, is there; what was begun is not.
expected_rows()
{
    case $1 in
    create-done) echo 2 ;;
    remove-done | remove-directory) echo 0 ;;
    *) echo 1 ;;
    esac
}

# containerd's collector asks for a clean-up, in the end; with its own ways, as users have it
@test "containerd collects by itself: images, snapshots and orphans go" {
    stop_daemon containerd
    COLLECTOR='' start_snapshotted
    pull app
    mkdir -p "$STATE/snapshotter/snapshots/4711/fs"
    ctr images rm "$REGISTRY/app:1" >/dev/null
    local i
    for ((i = 0; i < 300; i++)); do
        [ -n "$(directories)" ] || break
        sleep 0.1
    done
    [ -z "$(directories)" ]
    [ "$(rows_of 'count(*)')" = 0 ]
    stop_daemon containerd
    COLLECTOR=told start_snapshotted
}

# containerd, which mounts it, works in another directory
@test "a root that was given by a relative path is told by its whole one" {
    cd "$STATE"
    stop_daemon snapshotter
    start_snapshotter --root elsewhere
    reconnected
    run -0 ctr snapshots --snapshotter ocivariant prepare --target "$STATE/m" whole
    [[ $output == *" $STATE/elsewhere/snapshots/"* ]]
}

@test "what it writes is its own alone, metrics too" {
    [ -s "$STATE/snapshotter.prom" ]
    [ -z "$(find "$STATE/snapshotter" "$STATE/snapshotter.prom" "$SNAPSHOTTER_SOCKET" -maxdepth 1 -perm /022)" ]
    [ "$(stat -c %a "$STATE/snapshotter.prom")" = 644 ] # read by whoever collects
    [ -z "$(find "$STATE/snapshotter" -maxdepth 1 -perm /077)" ]
}

@test "a root that overlayfs' options cannot name is refused at once" {
    local name
    for name in a,b a:b 'a\b'; do
        run -2 timeout 10 "$SNAPSHOTTER" --root "$STATE/$name" --socket "$STATE/other.sock"
        [[ $output == *"$name: no overlay can be mounted"* ]]
        [ ! -e "$STATE/$name" ]
    done
}

@test "a second one on the same directory or socket does not start" {
    run -1 "$SNAPSHOTTER" --root "$STATE/snapshotter" --socket "$STATE/other.sock"
    [[ $output == *"used by another"* ]]
    run -1 "$SNAPSHOTTER" --root "$STATE/other" --socket "$SNAPSHOTTER_SOCKET"
    [[ $output == *"Address already in use"* ]]
    run -2 "$SNAPSHOTTER" --nonsense
    run -2 "$SNAPSHOTTER" word
    run -2 "$SNAPSHOTTER" --root '' --socket "$STATE/other.sock"
    [[ $output == *"--root is empty"* ]]
    run -2 "$SNAPSHOTTER" --root "$STATE/other" --socket=
    [[ $output == *"--socket is empty"* ]]
    run -0 "$SNAPSHOTTER" --help
    run -0 "$SNAPSHOTTER" --version
}
