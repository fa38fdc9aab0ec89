#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What is built and installed, seen from outside.

load ../harness

setup_file()
{
    state_start
    install_tree "$STATE/tree"
}

setup()
{
    installed=$STATE/tree/usr
}

@test "a build says a short line for each file, with V=1 the command, and uses all processors unless told" {
    local dir=$STATE/build object
    object=$dir/lib/core/digest.o
    made() { run -0 env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$OCV_TOP" --no-print-directory BUILD="$dir" "$@"; }
    made "$object"
    [[ $output == *"CC lib/core/digest.c"* ]]
    run ! grep -E -- ' -(O2|Wall|I)' <<<"$output"
    rm "$object"
    made V=1 "$object"
    [[ $output == *" -Wall "*" lib/core/digest.c"* ]]
    # shellcheck disable=SC2016 # make expands it
    printf 'flags:\n\t@echo "$(MAKEFLAGS)"\n' >"$STATE/flags.mk"
    made -f Makefile -f "$STATE/flags.mk" flags
    [[ " $output " == *" -j$(nproc) "* ]]
    made -j1 -f Makefile -f "$STATE/flags.mk" flags
    [[ " $output " == *" -j1 "* && " $output " != *" -j$(nproc) "* ]]
}

@test "install-deps tries again while another program holds apt's lock" {
    mkdir -p "$STATE/shims"
    cat >"$STATE/shims/apt-get" <<'SHIM'
#!/bin/sh
echo "$*" >>"$SHIM_LOG"
case " $* " in
*" update "*)
    [ "$(grep -c ' update\|^update\|-q update' "$SHIM_LOG")" -gt 1 ] && exit 0
    echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 77 (apt)" >&2
    exit 100
    ;;
esac
exit 0
SHIM
    printf '#!/bin/sh\nexit 0\n' >"$STATE/shims/sleep"
    chmod +x "$STATE"/shims/*
    # what it wants is never there, so that it asks apt, waits, asks again, installs, and says what is missing still
    sed 's/^check check.h$/nothing-of-that-name nothing-of-that-name/' "$OCV_TOP/contrib/install-deps.sh" >"$STATE/deps.sh"
    run -1 env SHIM_LOG="$STATE/apt.log" PATH="$STATE/shims:$PATH" bash "$STATE/deps.sh" --unit
    [[ $output == *"waiting for another apt: held by process 77 (apt)"*"still missing after the installation: nothing-of-that-name"* ]]
    [ "$(grep -c 'update' "$STATE/apt.log")" = 2 ]
    grep -q 'DPkg::Lock::Timeout=600 install .*nothing-of-that-name' "$STATE/apt.log"
}

@test "the shared libraries export nothing but ocv_ names" {
    for library in ocivariant ocivariant-registry ocivariant-probe; do
        names=$(nm -D --defined-only "$OCV_BUILD/lib$library.so" | awk '{ print $3 }')
        [ -n "$names" ]
        run ! grep -v '^ocv_' <<<"$names"
    done
}

@test "only the registry library needs libcurl; libpci and the probe are opened, not linked" {
    needs() { readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'; }
    for file in libocivariant.so libocivariant-probe.so variantctl vpull; do
        run ! grep -E 'libcurl|libocivariant-registry' <<<"$(needs "$OCV_BUILD/$file")"
    done
    for file in variantctl vpull; do # a process of its own probes for them, or variantd
        run ! grep libocivariant-probe <<<"$(needs "$OCV_BUILD/$file")"
    done
    for file in libocivariant.so libocivariant-registry.so libocivariant-probe.so variantctl; do
        run ! grep libpci <<<"$(needs "$OCV_BUILD/$file")"
    done
    needs "$OCV_BUILD/libocivariant-registry.so" | grep -q libcurl
}

# its load would take as long as a probe
@test "no command loads libcrypto where the build could take SHA-2 alone" {
    [ -e "$(cc -print-file-name=libcrypto.a)" ] || skip "no libcrypto.a here"
    for program in variantctl vpull; do
        run -0 env LD_TRACE_LOADED_OBJECTS=1 "$installed/bin/$program"
        [[ $output == *libjansson* && $output != *libcrypto* ]]
    done
    run -0 env LD_TRACE_LOADED_OBJECTS=1 "$installed/libexec/ocivariant/ocivariant-oci-hook"
    [[ $output == *libjansson* && $output != *libcrypto* ]]
}

@test "programs and libraries are hardened" {
    run -0 "$OCV_TOP/test/hardened.sh" "$STATE/tree"
    [[ $output == *" 0 complaints" ]]
    # and the check can fail
    mkdir "$STATE/soft"
    for i in 1 2 3 4 5 6; do
        echo 'int main(void) { return 0; }' | cc -no-pie -fcf-protection=none -x c -o "$STATE/soft/$i" -
    done
    run -1 "$OCV_TOP/test/hardened.sh" "$STATE/soft"
    [[ $output == *"not position-independent"* && $output == *"no stack protector"* ]]
}

@test "every exported name stands in a public header" {
    for library in ocivariant ocivariant-registry ocivariant-probe; do
        while read -r name; do
            grep -qw "$name" "$OCV_TOP"/lib/include/ocivariant/*.h
        done < <(nm -D --defined-only "$OCV_BUILD/lib$library.so" | awk '{ print $3 }')
    done
}

@test "the table beside the installed tag rules is of the files that are there" {
    local rules=$installed/share/ocivariant/tags.d file
    for file in "$rules"/*.yaml; do
        [ "$(jq -r --arg name "${file##*/}" '.files[$name].digest // "none"' "$rules/index.json")" = \
            "$(grep -q '^repositories:' "$file" && echo "sha256:$(sha256sum <"$file" | cut -d' ' -f1)" || echo none)" ]
    done
}

@test "what is installed runs from its directory" {
    export LD_LIBRARY_PATH=$installed/lib OCV_DATADIR=$installed/share/ocivariant
    version=$(cat "$OCV_TOP/VERSION")
    run -0 "$installed/bin/vpull" --version
    [[ $output == *"$version"* ]]
    run -0 "$installed/bin/variantctl" --version
    [[ $output == *"$version"* ]]
    run -0 "$installed/bin/variantctl" probe --format json
    [ "$(jq -r .schema <<<"$output")" = dev.ocivariant.profile/v1 ]
    # the schemas, not what makes headers of them
    [ -e "$installed/share/ocivariant/schema/vocabulary.yaml" ]
    [ -z "$(find "$installed" -name '*.awk')" ]
    for file in "$OCV_TOP"/plugins/providers/*.yaml; do
        cmp "$file" "$installed/share/ocivariant/providers/${file##*/}"
    done
}

@test "the installed registry client is found" {
    export LD_LIBRARY_PATH=$installed/lib OCV_DATADIR=$installed/share/ocivariant
    run -1 "$installed/bin/vpull" --print-ref 127.0.0.1:1/nobody/listens:1
    [[ $output != *"load"* ]]
}

@test "docker finds the installed plugin" {
    require docker
    export LD_LIBRARY_PATH=$installed/lib
    run -0 "$installed/lib/docker/cli-plugins/docker-vpull" docker-cli-plugin-metadata
    [ "$(jq -r .SchemaVersion <<<"$output")" = 0.1.0 ]
}

@test "the installed units are complete: what one needs of the others is there" {
    require systemd-analyze
    local units=$STATE/units threshold unit
    cp -r "$installed/lib/systemd/system" "$units"
    # their programs are not in this machine's /usr/bin
    sed -i "s,^ExecStart=/usr/bin/,ExecStart=$installed/bin/," "$units"/*.service
    run -0 systemd-analyze verify --man=no "$units"/*
    [[ $output != *ocivariant* && $output != *variantd* ]]
    for unit in "$units"/*.service; do
        threshold=30
        # it runs the engines' own clients, which need what they need
        [[ $unit != */ocivariant-verify.service ]] || threshold=40
        run -0 systemd-analyze security --offline=true --no-pager --threshold="$threshold" "$unit"
        grep -qx ProtectProc=invisible "$unit"
        grep -qx SystemCallErrorNumber=EPERM "$unit"
        grep -qE '^IPAddressDeny=(any|169.254.0.0/16 fd00:ec2::254( .*)?)$' "$unit"
    done
}

@test "no unit keeps state in another one's directory" {
    run -0 sed -n 's/^StateDirectory=//p' "$installed"/lib/systemd/system/*.service
    [ "${#lines[@]}" = 3 ]
    for directory in "${lines[@]}"; do
        [[ $directory != */* ]]
    done
    [ "$(printf '%s\n' "${lines[@]}" | sort -u | wc -l)" = 3 ]
    run -0 "$OCV_BUILD/ocivariant-cri-proxy" --help
    [[ $output == *"(default /var/lib/ocivariant-cri-proxy)"* ]]
}

@test "a program builds against the installed library with pkg-config" {
    export PKG_CONFIG_PATH=$installed/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$STATE/tree
    cat >"$STATE/user.c" <<'C'
#include <ocivariant.h>
#include <stdio.h>
int main(void) { return puts(ocv_version()) < 0; }
C
    # shellcheck disable=SC2046 # several flags
    cc -o "$STATE/user" "$STATE/user.c" $(pkg-config --cflags --libs ocivariant)
    LD_LIBRARY_PATH=$installed/lib run -0 "$STATE/user"
    [ "$output" = "$(cat "$OCV_TOP/VERSION")" ]
    # shellcheck disable=SC2046
    cc -o "$STATE/user-static" "$STATE/user.c" $(pkg-config --cflags ocivariant) \
        "$installed/lib/libocivariant.a" $(PKG_CONFIG_SYSROOT_DIR='' pkg-config --libs jansson libcrypto) -lpthread
    run -0 "$STATE/user-static"
}

@test "a program builds against the registry and the probe library with pkg-config" {
    export PKG_CONFIG_PATH=$installed/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$STATE/tree
    cat >"$STATE/all.c" <<'C'
#include <ocivariant-probe.h>
#include <ocivariant-registry.h>
int main(void)
{
    struct ocv_buffer json;
    struct ocv_probe_options options = {0};
    ocv_auto(ocv_registry) registry = NULL;
    ocv_buffer_init(&json, OCV_PROFILE_MAX);
    return ocv_probe(&options, &json, 0) == OCV_OK && ocv_registry_new(0, &registry, 0) == OCV_OK ? 0 : 1;
}
C
    # shellcheck disable=SC2046
    cc -o "$STATE/all" "$STATE/all.c" $(pkg-config --cflags --libs ocivariant-registry ocivariant-probe)
    LD_LIBRARY_PATH=$installed/lib run -0 "$STATE/all"
    # shellcheck disable=SC2046
    cc -o "$STATE/all-static" "$STATE/all.c" $(pkg-config --cflags ocivariant-registry) \
        "$installed"/lib/libocivariant{-registry,-probe,}.a \
        $(PKG_CONFIG_SYSROOT_DIR='' pkg-config --libs libcurl jansson yaml-0.1 libssl libcrypto) -ldl -lpthread
    run -0 "$STATE/all-static"
}

@test "the dependency check is quiet when nothing is missing" {
    run -0 "$OCV_TOP/contrib/install-deps.sh" --check
    [ -z "$output" ]
}

@test "without apt the dependency script lists what is missing and fails" {
    mkdir -p "$STATE/empty-path"
    ln -sf "$(command -v bash)" "$STATE/empty-path/bash"
    ln -sf "$(command -v id)" "$STATE/empty-path/id"
    sed '/^PATH=/d' "$OCV_TOP/contrib/install-deps.sh" >"$STATE/install-deps.sh"
    PATH=$STATE/empty-path run -1 bash "$STATE/install-deps.sh"
    [[ $output == *"no apt-get here"* ]]
    [[ $output == *skopeo* ]]
}

@test "uninstall takes away what install wrote, and nothing else" {
    root=$BATS_TEST_TMPDIR/root
    mkdir -p "$root/usr/share/ocivariant/tags.d"
    echo own >"$root/usr/share/ocivariant/tags.d/own.yaml"
    install_tree "$root"
    [ -e "$root/usr/bin/vpull" ]
    flock "$OCV_BUILD/install.lock" make -s -C "$OCV_TOP" BUILD="$OCV_BUILD" DESTDIR="$root" PREFIX=/usr uninstall
    [ "$(find "$root" ! -type d)" = "$root/usr/share/ocivariant/tags.d/own.yaml" ]
    [ ! -e "$root/usr/libexec/ocivariant" ]
    [ -d "$root/usr/bin" ]
}

@test "install.sh of the archive: what one user installs, all users can run" {
    local from=$BATS_TEST_TMPDIR/from to=$BATS_TEST_TMPDIR/to
    mkdir -p "$from/opt/ocivariant/bin" "$from/opt/ocivariant/share/ocivariant" "$to"
    cp "$OCV_TOP"/contrib/static/*install.sh "$from"
    install -m 755 /bin/true "$from/opt/ocivariant/bin/vpull"
    install -m 644 /dev/null "$from/opt/ocivariant/share/ocivariant/config.yaml"
    (umask 077 && "$from/install.sh" --root "$to")
    [ -x "$to/opt/ocivariant/bin/vpull" ]
    [ -z "$(find "$to" -mindepth 1 ! -type l ! -perm -o=r)" ]
    [ -z "$(find "$to" -mindepth 1 -type d ! -perm -o=x)" ]
}

@test "what RPM packages are built with is what Debian packages are built with" {
    local name
    local -A names=([libcurl4-openssl]=libcurl [libssl]=libcrypto [libsqlite3]=sqlite3 [libyaml]=yaml-0.1
        [libjansson]=jansson [zlib1g]=zlib)
    sed -n '/^Build-Depends:/,/^[^ ]*:/s/^ \(.*\)-dev,$/\1/p' "$OCV_TOP/contrib/debian/control" | while read -r name; do
        echo "${names[$name]:-$name}"
    done | sort >"$BATS_TEST_TMPDIR/debian"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/debian")" -gt 10 ]
    diff "$BATS_TEST_TMPDIR/debian" <(sed -n 's/^BuildRequires: *pkgconfig(\(.*\))$/\1/p' "$OCV_TOP/contrib/rpm/ocivariant.spec" | sort)
}
