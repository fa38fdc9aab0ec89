#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# test/kernel.sh VMLINUZ AREA/TEST...: unit tests on another kernel, in a virtual machine that has nothing but them.
# For what depends on the kernel: who gets an address, files that are exchanged, signals, sockets.
#
# Needs qemu-system-x86 and busybox-static. The kernel of Debian 12, the oldest that is supported:
#   apt-get download linux-image-6.1.0-NN-cloud-amd64 && dpkg-deb -x linux-image-*.deb tree
# The last line is as that of test/run.sh.
set -euo pipefail

cd "$(dirname "$0")/.."
build=${OCV_BUILD:-build}
kernel=${1:?usage: test/kernel.sh VMLINUZ AREA/TEST...}
shift
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

mkdir -p "$root"/{bin,usr,dev,etc,proc,run,sys,tmp,test}
cp /bin/busybox "$root/bin"
ln -s busybox "$root/bin/sh"
ln -s ../bin "$root/usr/bin"
printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
for name in "$@"; do
    area=${name%/*}
    echo "$name" >>"$root/tests"
    strip -o "$root/test/$area" "$build/test/unit/$area/run"
    ldd "$build/test/unit/$area/run" | grep -o '/[^ ]*'
done | sort -u | while read -r library; do
    install -D "$(readlink -f "$library")" "$root$library"
done

cat >"$root/init" <<'INIT'
#!/bin/sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /tmp
ip link set lo up
export HOME=/tmp TMPDIR=/tmp CK_VERBOSITY=minimal
cd /test
while read -r test; do
    "./${test%/*}" "${test#*/}" </dev/null && echo "result ok $test" || echo "result failed $test"
done </tests
echo "kernel $(uname -r)"
poweroff -f
INIT
chmod 755 "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$root.cpio"
trap 'rm -rf "$root" "$root.cpio"' EXIT

timeout 600 qemu-system-x86_64 -machine accel=tcg -cpu max -m 1024 -smp 2 -nodefaults -display none -no-reboot \
    -serial stdio -kernel "$kernel" -initrd "$root.cpio" -append 'console=ttyS0 quiet panic=-1' </dev/null |
    tr -d '\r' >"$root.log"
mv "$root.log" "$build/kernel.log"
grep -E '^[0-9]+%|:[EF]:|^result|^kernel' "$build/kernel.log" || tail -20 "$build/kernel.log"
passed=$(grep -c '^result ok' "$build/kernel.log" || true)
echo "$passed passed, $(($# - passed)) failed, 0 skipped"
[ "$passed" = $# ]
