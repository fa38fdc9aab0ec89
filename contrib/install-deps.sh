#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Install what building and testing needs, on Debian and its relatives.
#
#   contrib/install-deps.sh [--build-only | --unit | --tests | --deb | --rpm | --image | --wheel | --packages | --bench]
#       [--check]
#
# Silent and quick when nothing is missing. Without an option: all that make check-all needs.
# --build-only: compiler, libraries, and curl for make demo. --unit: with what unit tests need. --tests: with the
# engines of make check. --deb, --rpm, --image: what make deb, make rpm and make image need beside compiler and
# libraries. --packages: all three, and what make check-packages and a release need. --bench: beside everything else the
# peers that make bench measures.
# --check: say what is missing (exit 1), install nothing.
#
# What counts as present is a command or a header, not a package: a Docker or LLVM from elsewhere is
# as good as the distribution's.
set -euo pipefail

# package, then the command, the header (with a dot) or the module (python:NAME) it is wanted for
build_needs='
build-essential cc
build-essential c++
build-essential make
pkg-config pkg-config
libcurl4-openssl-dev curl/curl.h
libjansson-dev jansson.h
libssl-dev openssl/sha.h
libyaml-dev yaml.h
libpci-dev pci/pci.h
zlib1g-dev zlib.h
libzstd-dev zstd.h
libarchive-dev archive.h
libmicrohttpd-dev microhttpd.h
libnghttp2-dev nghttp2/nghttp2.h
libprotobuf-c-dev protobuf-c/protobuf-c.h
protobuf-c-compiler protoc-c
libsqlite3-dev sqlite3.h
curl curl
'
unit_needs='
check check.h
libsubunit-dev subunit/child.h
openssl openssl
'
# engines, and what the integration tests of make check call
test_needs='
git git
bats bats
jq jq
python3-jsonschema python:jsonschema,yaml
python3-yaml python:jsonschema,yaml
python3-setuptools python:setuptools
python3-wheel python:wheel
strace strace
sqlite3 sqlite3
ca-certificates update-ca-certificates
libcap2-bin setcap
util-linux setpriv
procps pgrep
iproute2 ip
apache2-utils htpasswd
zstd zstd
containerd containerd
runc runc
docker.io dockerd
docker-cli docker
docker-registry docker-registry
podman podman
skopeo skopeo
buildah buildah
munge munged
slurmctld slurmctld
slurmd slurmd
slurm-client srun
'
# of make check-all
more_needs='
clang clang
clang-format clang-format
clang-tidy clang-tidy
cppcheck cppcheck
shellcheck shellcheck
abigail-tools abidiff
tmux tmux
zsh zsh
fish fish
umockdev umockdev-run
mandoc mandoc
debhelper dh
dpkg-dev dpkg-buildpackage
systemd systemd-socket-activate
systemd systemd-analyze
chromium chromium
prometheus promtool
qemu-user qemu-aarch64
gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc
gcc-powerpc64le-linux-gnu powerpc64le-linux-gnu-gcc
gcc-riscv64-linux-gnu riscv64-linux-gnu-gcc
gcc-s390x-linux-gnu s390x-linux-gnu-gcc
libc6-dev-arm64-cross ../aarch64-linux-gnu/include/stdio.h
libc6-dev-ppc64el-cross ../powerpc64le-linux-gnu/include/stdio.h
libc6-dev-riscv64-cross ../riscv64-linux-gnu/include/stdio.h
libc6-dev-s390x-cross ../s390x-linux-gnu/include/stdio.h
'
deb_needs='
debhelper dh
dpkg-dev dpkg-buildpackage
'
rpm_needs='
rpm rpmbuild
'
image_needs='
jq jq
libcap2-bin setcap
ca-certificates update-ca-certificates
'
package_needs='
lintian lintian
debootstrap debootstrap
minisign minisign
'
wheel_needs='
python3-setuptools python:setuptools
python3-wheel python:wheel
'
bench_needs='
pciutils lspci
hwloc-nox lstopo-no-graphics
nginx-light nginx
'

# Daemons are here, and often not in a plain user's PATH.
PATH=$PATH:/usr/sbin:/sbin

header_present()
{
    local dir
    for dir in /usr/include /usr/include/*-linux-gnu /usr/local/include; do
        [ -e "$dir/$1" ] && return 0
    done
    return 1
}

# all modules in the first python3, or in the distribution's if another one precedes it
module_present()
{
    python3 -c "import $1" 2>/dev/null || /usr/bin/python3 -c "import $1" 2>/dev/null
}

# clang's sanitizer and fuzzer runtimes are a separate package on newer releases
clang_runtime_present()
{
    local lib
    for lib in /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a \
        /usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.fuzzer.a \
        /usr/lib/clang/*/lib/*/libclang_rt.fuzzer*.a; do
        [ -e "$lib" ] && return 0
    done
    return 1
}

list_missing()
{
    local package probe last=
    while read -r package probe; do
        if [ -z "$package" ] || [ "$package" = "$last" ]; then
            continue
        fi
        case $probe in
        *.h) header_present "$probe" && continue ;;
        python:*) module_present "${probe#python:}" && continue ;;
        *) command -v "$probe" >/dev/null && continue ;;
        esac
        last=$package
        printf '%s\n' "$package"
    done
    if [[ $needs == *clang-tidy* ]] && ! clang_runtime_present; then
        printf 'libclang-rt-dev\n'
    fi
}

package_known()
{
    [ -n "$(apt-cache show --no-all-versions "$1" 2>/dev/null)" ]
}

# The names above are current; older and newer releases split packages differently.
real_name()
{
    local version
    case $1 in
    docker-cli) # part of docker.io before Debian 13
        if package_known docker-cli; then echo docker-cli; else echo docker.io; fi
        ;;
    libclang-rt-dev)
        version=$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
        if package_known "libclang-rt-$version-dev"; then
            echo "libclang-rt-$version-dev"
        else
            echo "libclang-common-$version-dev"
        fi
        ;;
    *) echo "$1" ;;
    esac
}

only_check=no
needs=
for argument; do
    case $argument in
    --build-only) needs+=$build_needs ;;
    --unit) needs+=$build_needs$unit_needs ;;
    --tests) needs+=$build_needs$unit_needs$test_needs ;;
    --deb) needs+=$build_needs$deb_needs ;;
    --rpm) needs+=$build_needs$deb_needs$rpm_needs ;;
    --image) needs+=$build_needs$deb_needs$image_needs ;;
    --wheel) needs+=$wheel_needs ;;
    --packages) needs+=$build_needs$deb_needs$rpm_needs$image_needs$package_needs ;;
    --bench) needs+=$build_needs$unit_needs$test_needs$more_needs$bench_needs ;;
    --check) only_check=yes ;;
    *)
        echo "usage: ${0##*/} [--build-only | --unit | --tests | --deb | --rpm | --image | --wheel | --packages | --bench] [--check]" >&2
        exit 2
        ;;
    esac
done
[ -n "$needs" ] || needs=$build_needs$unit_needs$test_needs$more_needs
mapfile -t missing < <(list_missing <<<"$needs")
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$only_check" = yes ]; then
    echo "missing: ${missing[*]}"
    exit 1
fi
if ! command -v apt-get >/dev/null; then
    echo "${0##*/}: no apt-get here; please install what these Debian packages hold:" >&2
    printf '  %s\n' "${missing[@]}" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "${0##*/}: not root and no sudo; please install: ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

# The packages of container engines would start their services, change the firewall and use the
# default sockets. Tests start their own, so none is started during the installation.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
    "${as_root[@]}" chmod 755 $policy
    trap '"${as_root[@]}" rm -f $policy' EXIT
fi

# promtool only, from the package prometheus: its server would start with the machine
install_promtool()
{
    local directory
    directory=$(mktemp -d)
    (cd "$directory" && apt-get -q download prometheus)
    dpkg-deb --fsys-tarfile "$directory"/prometheus_*.deb | tar -x -C "$directory" ./usr/bin/promtool
    "${as_root[@]}" install -m 755 "$directory/usr/bin/promtool" /usr/local/bin/promtool
    rm -r "$directory"
}

# apt waits for its other locks itself (DPkg::Lock::Timeout), but not for that of the lists
update_lists()
{
    local log waited=0
    log=$(mktemp)
    until "${as_root[@]}" apt-get -q update >"$log" 2>&1; do
        if ! grep -qi 'could not get lock\|unable to lock' "$log" || [ $waited -ge 600 ]; then
            cat "$log" >&2
            rm -f "$log"
            return 1
        fi
        [ $((waited % 30)) != 0 ] || echo "waiting for another apt: $(grep -oi 'held by process.*' "$log" | head -n 1)"
        sleep 5
        waited=$((waited + 5))
    done
    rm -f "$log"
}

echo "installing, and starting no service: ${missing[*]}"
update_lists
names=()
for package in "${missing[@]}"; do
    [ "$package" = prometheus ] || names+=("$(real_name "$package")")
done
if [ ${#names[@]} != 0 ]; then
    LC_ALL=C apt-get -o Debug::NoLocking=1 -y -qq --print-uris --no-install-recommends install "${names[@]}" 2>/dev/null |
        awk '/^\047/ { n++; bytes += $3 } END { if (n) printf "%d packages, %.0f MB to download\n", n, bytes / 1e6 }' || true
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 \
        install -q -y --no-install-recommends "${names[@]}"
fi
[[ " ${missing[*]} " != *" prometheus "* ]] || install_promtool

mapfile -t missing < <(list_missing <<<"$needs")
if [ ${#missing[@]} -gt 0 ]; then
    echo "${0##*/}: still missing after the installation: ${missing[*]}" >&2
    exit 1
fi
