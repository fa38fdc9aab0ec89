#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What is built and installed, seen from outside.

load harness

setup_file()
{
    state_start
    make -s -C "$OCV_TOP" BUILD="$OCV_BUILD" DESTDIR="$STATE/tree" PREFIX=/usr install
}

teardown_file()
{
    state_stop
}

# shellcheck source-path=SCRIPTDIR/../.. # completions
setup()
{
    installed=$STATE/tree/usr
}

@test "the shared libraries export nothing but ocv_ names" {
    for library in ocivariant ocivariant-registry ocivariant-probe; do
        names=$(nm -D --defined-only "$OCV_BUILD/lib$library.so" | awk '{ print $3 }')
        [ -n "$names" ]
        run ! grep -v '^ocv_' <<<"$names"
    done
}

@test "only the registry library needs libcurl, and libpci is opened, not linked" {
    needs() { readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'; }
    for file in libocivariant.so libocivariant-probe.so variantctl vpull; do
        run ! grep -E 'libcurl|libocivariant-registry' <<<"$(needs "$OCV_BUILD/$file")"
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
    local units=$STATE/units
    cp -r "$installed/lib/systemd/system" "$units"
    # their programs are not in this machine's /usr/bin
    sed -i "s,^ExecStart=/usr/bin/,ExecStart=$installed/bin/," "$units"/*.service
    run -0 systemd-analyze verify --man=no "$units"/*
    [[ $output != *ocivariant* && $output != *variantd* ]]
    for unit in "$units"/*.service; do
        # it runs the engines' own clients, which need what they need
        [[ $unit != */ocivariant-verify.service ]] || continue
        run -0 systemd-analyze security --offline=true --no-pager --threshold=30 "$unit"
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

@test "completions offer what the programs' help names" {
    PATH=$OCV_BUILD:$PATH
    # shellcheck source=contrib/completions/vpull
    . "$installed/share/bash-completion/completions/vpull"
    # shellcheck source=contrib/completions/variantctl
    . "$installed/share/bash-completion/completions/variantctl"
    COMP_WORDS=(vpull --pri) COMP_CWORD=1
    _vpull vpull --pri vpull
    [ "${COMPREPLY[*]}" = --print-ref ]
    COMP_WORDS=(variantctl re) COMP_CWORD=1
    _variantctl variantctl re variantctl
    [ "${COMPREPLY[*]}" = resolve ]
    COMP_WORDS=(variantctl index cr) COMP_CWORD=2
    _variantctl variantctl cr index
    [ "${COMPREPLY[*]}" = create ]
    COMP_WORDS=(variantctl probe --sys) COMP_CWORD=2
    _variantctl variantctl --sys probe
    [ "${COMPREPLY[*]}" = --sysroot ]
}

# completed FUNCTION WORD...: what is offered for the last word
completed()
{
    local function=$1
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" || true
    echo "${COMPREPLY[*]}"
}

@test "completions offer no option that the verb does not take" {
    PATH=$OCV_BUILD:$PATH
    # shellcheck source=contrib/completions/variantctl
    . "$installed/share/bash-completion/completions/variantctl"
    for verb in probe resolve explain verify lint lock setup coverage images index\ {create,add,remove,annotate,show,coverage,diff,copy,push} \
        tags\ {parse,plan,check}; do
        read -ra words <<<"$verb"
        offered=$(completed _variantctl variantctl "${words[@]}" --)
        [[ $offered == *--config* ]]
        for option in $offered; do
            run variantctl "${words[@]}" "$option=x" --no-such-option </dev/null
            [[ $output != *"unknown option '$option'"* ]] || { echo "$verb: $option" && false; }
        done
    done
}

@test "completion of variantd: its options, the words that one takes, and files else" {
    PATH=$OCV_BUILD:$PATH
    # shellcheck source=contrib/completions/variantd
    . "$installed/share/bash-completion/completions/variantd"
    [ "$(completed _variantd variantd --st)" = --state-dir ]
    [ "$(completed _variantd variantd --mode '')" = "auto resolver proxy" ]
    [ "$(completed _variantd variantd --mode = p)" = proxy ]
    [ "$(completed _variantd variantd --profile '')" = "" ]
    for option in $(completed _variantd variantd --); do
        run variantd "$option=x" --no-such-option </dev/null
        [[ $output != *"unknown option '$option'"* ]] || { echo "$option" && false; }
    done
}

@test "completions offer the words that an option of this verb takes, and files else" {
    PATH=$OCV_BUILD:$PATH
    # shellcheck source=contrib/completions/vpull
    . "$installed/share/bash-completion/completions/vpull"
    # shellcheck source=contrib/completions/variantctl
    . "$installed/share/bash-completion/completions/variantctl"
    [ "$(completed _variantctl variantctl lint --format '')" = "text json sarif github" ]
    [ "$(completed _variantctl variantctl lint --format = s)" = sarif ]
    [ "$(completed _variantctl variantctl index create --format '')" = "text json" ]
    [ "$(completed _variantctl variantctl index show --format '')" = "text json" ]
    [ "$(completed _variantctl variantctl index create --layout s)" = same-platform ]
    [ "$(completed _variantctl variantctl lint --fail-on n)" = never ]
    [ "$(completed _variantctl variantctl explain --tag-rules '')" = "on off" ]
    [ "$(completed _variantctl variantctl setup --store c)" = "classic containerd" ]
    run -2 variantctl setup nothing # the same table
    [[ $output == *" $(completed _variantctl variantctl setup '' | sed 's/ /, /g'),"* && $output == *crio* ]]
    [ "$(completed _variantctl variantctl tags p)" = "parse plan" ]
    [ "$(completed _variantctl variantctl --ver)" = --version ]
    [ "$(completed _variantctl variantctl lint --dry-run --no)" = --no-children ]
    for option in --settings --output --cert; do
        [ -z "$(completed _variantctl variantctl lint "$option" '')" ]
    done
    [ "$(completed _variantctl variantctl vocabulary nvi)" = nvidia ]
    [ "$(completed _variantctl variantctl vocabulary nvidia :: sm)" = sm_arch ]
    [ "$(completed _variantctl variantctl vocabulary amd ::)" = "$(variantctl vocabulary amd | sed -n 's/^  \([^ ]*\) .*/\1/p' | paste -sd ' ')" ]
    [ "$(completed _variantctl variantctl explain --require x86_64 :: lev)" = level ]
    [ "$(completed _variantctl variantctl explain --disable tenst)" = tenstorrent ]
    [ "$(completed _vpull vpull --disable nvidia :: sm)" = sm_arch ]
    [ "$(completed _vpull vpull --require tenst)" = tenstorrent ]
    [ "$(completed _vpull vpull --progress p)" = plain ]
    [ "$(completed _vpull vpull --to ner)" = nerdctl ]
    [ -z "$(completed _vpull vpull --locked '')" ]
}

@test "the help texts, which completions read, name every long option" {
    local verb option
    { "$OCV_BUILD/vpull" --help && "$OCV_BUILD/variantctl" help registry; } >"$BATS_TEST_TMPDIR/help"
    for verb in probe resolve explain lint lock images verify setup "tags parse" "tags plan" "index create" \
        "index remove" "index annotate" "index show" "index coverage" "index diff" "index copy"; do
        # shellcheck disable=SC2086
        "$OCV_BUILD/variantctl" $verb --help
    done >>"$BATS_TEST_TMPDIR/help"
    run -0 grep -rhoE --include='*.[ch]' '"[a-z-]+", (no|required|optional)_argument' \
        "$OCV_TOP"/cmd/{common/cli.h,vpull,variantctl}
    [ "${#lines[@]}" -gt 60 ]
    for option in "${lines[@]}"; do
        option=--${option:1}
        option=${option%%\"*}
        grep -qE -- "$option([^a-z-]|$)" "$BATS_TEST_TMPDIR/help" || echo "no help has $option"
    done >"$BATS_TEST_TMPDIR/missing"
    diff /dev/null "$BATS_TEST_TMPDIR/missing"
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
    make -s -C "$OCV_TOP" BUILD="$OCV_BUILD" DESTDIR="$root" PREFIX=/usr install
    [ -e "$root/usr/bin/vpull" ]
    make -s -C "$OCV_TOP" BUILD="$OCV_BUILD" DESTDIR="$root" PREFIX=/usr uninstall
    [ "$(find "$root" ! -type d)" = "$root/usr/share/ocivariant/tags.d/own.yaml" ]
    [ ! -e "$root/usr/libexec/ocivariant" ]
    [ -d "$root/usr/bin" ]
}
