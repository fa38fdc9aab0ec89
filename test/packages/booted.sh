# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Run in a started tree by test/packages/systemd.bash, with -eux: the installed units as systemd runs them,
# the quick start as it stands (/srv/node.sh and its like), an upgrade and a removal under way.
# shellcheck disable=SC2251 # "! command" as the last of a list is meant to be looked at by its output

home=$(getent passwd 0 | cut -d: -f6)
cd "$home" || exit
until_ok() # COMMAND...
{
    for _ in $(seq 300); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    "$@"
}
inactive() { [ "$(systemctl is-active "$1")" = inactive ]; }
ready() { curl -sf --unix-socket /run/ocivariant/variantd.sock http://localhost/v1/healthz; }
# variantd reads its configuration while systemctl returns; a user is slower than this script
systemctl()
{
    local before
    [ "$*" = "reload variantd" ] || { command systemctl "$@"; return; }
    before=$(command journalctl -u variantd | grep -c 'configuration read again' || true)
    command systemctl "$@"
    for _ in $(seq 300); do
        [ "$(command journalctl -u variantd | grep -c 'configuration read again' || true)" = "$before" ] || break
        sleep 0.1
    done
}
export -f systemctl
pid_of() { systemctl show --property MainPID --value "$1"; }

# ---- as the packages leave it: variantd runs, what refuses images waits -----------------------------
until_ok ready
systemctl is-active variantd.socket variantd.service
[ "$(stat -c %U "/proc/$(pid_of variantd)")" = ocivariant ]
grep -qx "CapEff:[[:space:]]*0*" "/proc/$(pid_of variantd)/status" # it listens, and needs it no more
[ -n "$(ss -Hltn 'sport = 340')" ]
! journalctl -u variantd | grep -i 'cannot'
for unit in ocivariant-snapshotter.service ocivariant-snapshotter.socket ocivariant-cri-proxy.service ocivariant-verify.timer; do
    inactive $unit
    [ "$(systemctl is-enabled $unit)" = disabled ]
done

# ---- an upgrade restarts it, and no request is refused; containers' snapshotter stays as it is ---------
# code and seconds of 30 requests a second
ask_all_along()
{
    while [ ! -e enough ]; do
        curl -s --max-time 10 -o /dev/null -w '%{http_code} %{time_total}\n' http://127.0.0.1:340/v2/ >>answers &
        sleep 0.033
    done
    wait
}
systemctl start ocivariant-snapshotter.service
variantd=$(pid_of variantd) snapshotter=$(pid_of ocivariant-snapshotter)
ask_all_along 2>/dev/null &
asker=$!
dpkg -i --force-confold /srv/variantd_*.deb /srv/ocivariant-containerd_*.deb
until_ok ready
for _ in 1 2 3 4 5 6; do # systemd would stop after five in ten seconds
    systemctl restart variantd
done
touch enough
wait "$asker"
sort -k2n answers | tail -n 1
[ "$(wc -l <answers)" -gt 30 ]
! grep -v '^200 ' answers
rm enough answers

# ---- a start that fails has clients refused, who go to the registry, and the next one serves them ------
refused() { ! curl -s --max-time 1 http://127.0.0.1:340/v2/ || return 1; [ "$(ss -Hltn 'sport = 340')" = "" ]; }
soon_refused()
{
    for _ in $(seq 30); do
        ! refused || return 0
        sleep 0.1
    done
    return 1
}
cp -a /etc/ocivariant/config.yaml config.saved 2>/dev/null || true
echo 'policy: [' >>/etc/ocivariant/config.yaml
systemctl restart variantd || true
soon_refused
if [ -e config.saved ]; then cp -a config.saved /etc/ocivariant/config.yaml; else rm /etc/ocivariant/config.yaml; fi
until_ok ready
cp -a /usr/bin/variantd program.saved
rm /usr/bin/variantd # it runs
printf '#!/nonexistent\n' >/usr/bin/variantd
chmod 755 /usr/bin/variantd
systemctl restart variantd || true
soon_refused
cp -a --remove-destination program.saved /usr/bin/variantd
until_ok ready
curl -sf http://127.0.0.1:340/v2/ >/dev/null
rm -f config.saved program.saved
variantd=$(pid_of variantd)
systemctl restart variantd
until_ok ready
[ "$(pid_of variantd)" != "$variantd" ]
[ "$(pid_of ocivariant-snapshotter)" = "$snapshotter" ]
systemctl stop ocivariant-snapshotter.service ocivariant-snapshotter.socket

# ---- a registry that everything here trusts ------------------------------------------------------------
echo '127.0.0.1 localhost registry.example' >/etc/hosts
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=registry.example \
    -addext subjectAltName=DNS:registry.example -keyout key.pem -out /usr/local/share/ca-certificates/test.crt
update-ca-certificates >/dev/null
cat >registry.yml <<YAML
version: 0.1
storage: {filesystem: {rootdirectory: $home/registry}}
http: {addr: "127.0.0.1:443", tls: {certificate: /usr/local/share/ca-certificates/test.crt, key: $home/key.pem}}
YAML
systemd-run --quiet --unit=registry --working-directory="$home" docker-registry serve "$home/registry.yml"
export OCV_TOP=/src OCV_BUILD=/build VARIANTCTL=variantctl
mkimage() { /build/test/tools/mkimage "$@"; }
# shellcheck source=/dev/null
. /src/test/integration/images.bash
make_programs "$home/layout"
until_ok curl -sf https://registry.example/v2/
skopeo --insecure-policy copy --quiet --all "oci:$home/layout:app" docker://registry.example/team/app:1.0
mine=$(variantctl resolve registry.example/team/app:1.0 | jq -r 'if .selected.label then .selected.digest else .index end')
label=$(variantctl resolve registry.example/team/app:1.0 | jq -r '.selected.label // "null"')

# ---- the quick start: who pulls, who publishes, who runs a cluster ---------------------------------------
cat >containers.conf <<'TOML'
[containers]
netns = "host"
pids_limit = 0
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
TOML
export CONTAINERS_CONF=$home/containers.conf
for tag in null=cpu cpu.v3=v3 cuda12.8=cu128 rocm7.1=rocm; do
    skopeo --insecure-policy copy --quiet "oci:$home/layout:${tag%=*}" "docker://registry.example/team/app:1.0-${tag#*=}"
done
bash -eux -o pipefail /srv/pull.sh | tee pulled.txt
grep -qx "this is $label" pulled.txt
grep -q "registry.example/team/app@sha256:" pulled.txt
bash -eux -o pipefail /srv/publish.sh
[ "$(variantctl index show --format json registry.example/team/app:2.0 |
    jq -r '.manifests | map(.annotations["dev.ocivariant.label"] // "null") | join(" ")')" = "null cpu.v3 cuda12.8 rocm7.1" ]
bash -eux -o pipefail /srv/cluster.sh
jq -e '.manifests | length > 0' pulled/index.json
podman system reset --force >/dev/null 2>&1 || true

# ---- the quick start: who runs a node ------------------------------------------------------------------------
# variantd finds out under shadow beside its answer, and people are slower than scripts
journalctl()
{
    for _ in $(seq 100); do
        ! command journalctl "$@" | grep -q 'shadow: w' || break
        sleep 0.1
    done
    command journalctl "$@"
}
export -f journalctl
systemctl start containerd
until_ok ctr version
bash -eux -o pipefail /srv/node.sh
ctr images ls | tee images
grep -F "$mine" images
inactive variantd.service
inactive variantd.socket
[ -z "$(find /etc/containerd -name hosts.toml)" ]

# ---- the snapshotter, the CRI proxy and the check of what is there, by their units ---------------------
printf 'choose: on\nregistries:\n  registry.example:\n' >/etc/ocivariant/config.yaml
systemctl enable --now variantd.socket variantd.service ocivariant-snapshotter.service
until_ok ready
mkdir -p /etc/containerd
shipped=ocivariant-snapshotter
[[ $(containerd --version) != *" "?(v)2.* ]] || shipped+=-v3
cp /usr/share/doc/ocivariant-containerd/examples/$shipped.toml /etc/containerd/config.toml
variantctl setup containerd
systemctl restart containerd
until_ok ctr version
ctr plugins ls | grep -E 'ocivariant.*ok'
ctr images rm registry.example/team/app:1.0
ctr images pull --snapshotter ocivariant --hosts-dir /etc/containerd/certs.d registry.example/team/app:1.0
ctr images ls | grep -F "$mine"
ctr snapshots --snapshotter ocivariant ls | grep -F Committed
systemctl start ocivariant-cri-proxy.service
[ -S /run/ocivariant-cri-proxy.sock ]
variantd --check && systemctl reload variantd ocivariant-snapshotter ocivariant-cri-proxy
until_ok ready
systemctl is-active variantd ocivariant-snapshotter ocivariant-cri-proxy
systemctl enable --now ocivariant-verify.timer
systemctl start ocivariant-verify.service # it fails if an image does not fit
systemctl --failed --no-legend | tee failed
! grep -E 'variant' failed

# ---- above 1023 systemd holds the port while the daemon restarts --------------------------------------------
answers() { [ "$(curl -s --max-time 5 -o /dev/null -w '%{http_code}' http://127.0.0.1:5050/v2/)" = 200 ]; }
echo 'listen: 127.0.0.1:5050' >>/etc/ocivariant/config.yaml
systemctl restart variantd
until_ok answers
variantctl setup containerd
# another user, who tries continuously
systemd-run --quiet --unit=intruder --property=StandardOutput="file:$home/intruder" /build/test/tools/intruder 5050
until_ok grep -qx tries intruder
for _ in 1 2 3; do
    before=$(pid_of variantd)
    systemctl restart variantd
    until_ok answers
    [ "$(pid_of variantd)" != "$before" ]
    [ "$(systemctl is-active intruder)" = active ]
    ! grep took intruder
done
variantctl setup --status containerd | tee status
grep -qx 'variantd: answers at 127.0.0.1:5050' status
# the intruder would succeed: a stopped unit frees the port
systemctl stop variantd.socket variantd.service
until_ok grep -qx took intruder
systemctl stop intruder
sed -i '/^listen:/d' /etc/ocivariant/config.yaml
sleep 10 # systemd allows five starts in ten seconds
systemctl start variantd.socket variantd.service
until_ok ready
variantctl setup containerd
rm intruder status

# ---- earlier packages ($OLD_DEBS), and these again: what was recorded and unpacked stays -------------------------
still_there()
{
    until_ok ready
    systemctl restart ocivariant-snapshotter.service
    variantctl setup --status containerd
    variantctl verify --from containerd | tee images
    grep -E '^1 image: 1 fits?,' images
    until_ok ctr snapshots --snapshotter ocivariant ls # containerd retries after a while
    # what it has unpacked is mounted; runc would want controllers of cgroups
    ctr snapshots --snapshotter ocivariant ls | awk 'NR > 1 { kind[$1] = $NF; parent[$2] = 1 }
        END { for (key in kind) if (kind[key] == "Committed" && !parent[key]) print key }' | head -n 1 >top
    ctr snapshots --snapshotter ocivariant view looked "$(<top)" >/dev/null
    ctr snapshots --snapshotter ocivariant mounts /mnt looked | sh -ex
    chroot /mnt /say | tee said
    umount /mnt
    ctr snapshots --snapshotter ocivariant rm looked
    grep -qx "this is $label" said
    [ "$(find /var/lib/ocivariant/ /var/lib/ocivariant-setup -type f | wc -l)" -ge "$kept" ]
}
if [ -d /srv/old ]; then
    kept=$(find /var/lib/ocivariant/ /var/lib/ocivariant-setup -type f | wc -l)
    still_there
    dpkg -i --force-confold /srv/old/*.deb
    [ "$(dpkg-query -W -f '${Version}' variantd)" = "$(dpkg-deb -f /srv/old/variantd_*.deb Version)" ]
    still_there
    # a key of this version is refused by name, and the daemon visibly fails to start
    cp /etc/ocivariant/config.yaml kept.yaml
    echo 'image_credential_provider_bin_dir: /nowhere' >>/etc/ocivariant/config.yaml
    ! variantd --check 2>refused
    grep "unknown key 'image_credential_provider_bin_dir'" refused
    mv kept.yaml /etc/ocivariant/config.yaml
    dpkg -i --force-confold /srv/*.deb
    still_there
    rm -f images said refused top
fi

# ---- gone while it runs --------------------------------------------------------------------------------------
variantctl setup --uninstall
rm /etc/containerd/config.toml
dpkg --remove variantd ocivariant-containerd
[ -z "$(pgrep -f '/usr/bin/(variantd|ocivariant-snapshotter|ocivariant-cri-proxy)')" ]
[ -z "$(ss -Hltn 'sport = 340')" ]
rm -rf .cache containers.conf layout registry pulled* image machines fleet variants.lock
