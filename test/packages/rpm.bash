# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# For test/packages.sh: the RPM packages. The tree is a Debian, whose libraries have other names in other
# directories: rpm does not ask for them (--nodeps), and the loader looks where Fedora has them, too.
# shellcheck disable=SC2154 # work, build, tree: of packages.sh

rpm_rebuilt()
{
    source_copy "$work/b/longer/place"
    (cd "$work/b/longer/place" && umask 0077 && TZ=Asia/Tokyo LC_ALL=C OCV_BUILD=build contrib/rpm.sh)
}

rpm_same()
{
    local package status=0
    for package in "$build"/rpm/*.rpm; do
        cmp "$package" "$work/b/longer/place/build/rpm/${package##*/}" || status=1
    done
    return $status
}

# PACKAGE MODE PATH [-> TARGET], in Debian's names, without what each kind of package alone has:
# licences, changelogs, links by build id, executable libraries
deb_list()
{
    local package name
    for package in "$build"/deb/*.deb; do
        name=$(basename "$package" | cut -d_ -f1)
        [[ $name != *-dbgsym ]] || continue
        dpkg-deb --fsys-tarfile "$package" | tar -tvf - | sed -n "/^d/!s|^\([^ ]*\) .*:[0-9]* \./|$name \1 /|p"
    done | sed -E -e 's| /usr/share/zsh/vendor-completions/| ZSH/|' -e 's| /lib/systemd/| /usr/lib/systemd/|' -e 's| /usr/lib/[a-z0-9_]+-linux-gnu/| LIB/|' \
        -e '/ \/usr\/share\/(doc\/[^ ]*\/(copyright|changelog.*)|lintian\/.*)$/d' -e 's/\.gz$//' | LC_ALL=C sort
}

rpm_list()
{
    local package
    for package in "$build"/rpm/*.rpm; do
        [[ $package != *.src.rpm ]] || continue
        rpm -qp --nosignature --qf '[%{=NAME} %{FILEMODES:perms} %{FILENAMES}|%{FILELINKTOS}\n]' "$package"
    done | sed -E -e '/^[^ ]* d/d' -e '/\.so\./s/-rwx?r-xr-x/-rw-r--r--/' -e 's/^([^ ]*)-devel /\1-dev /' -e 's/\|$//' -e 's/\|/ -> /' \
        -e 's| /usr/share/zsh/site-functions/| ZSH/|' -e 's| /usr/lib64/| LIB/|' -e '/ \/usr\/(share\/licenses|lib\/\.build-id)\//d' -e 's/\.gz$//' | LC_ALL=C sort
}

same_files()
{
    deb_list >"$work/deb.list"
    rpm_list >"$work/rpm.list"
    [ "$(wc -l <"$work/deb.list")" -gt 100 ]
    diff "$work/deb.list" "$work/rpm.list"
}

# scriptlets run in the tree, and their commands need /proc
in_rpm_tree()
{
    # shellcheck disable=SC2016 # expanded inside
    unshare --mount --propagation private sh -ec 'tree=$1; shift; mount --rbind /proc "$tree/proc"
        exec rpm --root "$tree" --dbpath /var/lib/rpm --nosignature "$@"' sh "$tree" "$@"
}

rpm_installed()
{
    in_tree apt-get update -q
    in_tree apt-get install -y -q --no-install-recommends libarchive13 libcurl4 libjansson4 libmicrohttpd12 libnghttp2-14 \
        libpci3 libprotobuf-c1 libsqlite3-0 libssl3 libyaml-0-2 systemd systemd-standalone-sysusers- ca-certificates
    echo /usr/lib64 >"$tree/etc/ld.so.conf.d/lib64.conf"
    mkdir -p "$tree/var/lib/rpm"
    in_rpm_tree -i --nodeps "$build"/rpm/*.x86_64.rpm "$build"/rpm/*.noarch.rpm
    in_rpm_tree -V --nodeps variantd vpull variantctl ocivariant-containerd libocivariant1
}

# variantd's user and directory exist; no unit is enabled before the administrator does so
rpm_scriptlets()
{
    in_tree getent passwd ocivariant
    [ -d "$tree/run/ocivariant" ]
    in_tree ldconfig -p | grep '/usr/lib64/libocivariant.so.1' # -q would kill ldconfig by SIGPIPE
    [ -z "$(find "$tree/etc/systemd/system" -name 'variantd*' -o -name 'ocivariant*')" ]
}

# the user's configuration survives an upgrade and a removal
rpm_upgraded()
{
    echo 'tag_ttl: 5s' >"$tree/etc/ocivariant/config.yaml"
    in_rpm_tree -U --nodeps --replacepkgs "$build"/rpm/*.x86_64.rpm "$build"/rpm/*.noarch.rpm
    grep -qx 'tag_ttl: 5s' "$tree/etc/ocivariant/config.yaml"
    in_rpm_tree -q --configfiles variantd | grep -qx /etc/ocivariant/config.yaml
    [ "$(in_rpm_tree -q --qf '[%{FILENAMES} %{FILEFLAGS:fflags}\n]' variantd | sed -n 's|^/etc/ocivariant/config.yaml ||p')" = cn ]
}

rpm_removed()
{
    local names
    names=$(in_rpm_tree -qa --qf '%{NAME}\n' | grep -E 'ocivariant|vpull|variant')
    mkdir -p "$tree/var/lib/ocivariant-setup"
    touch "$tree/var/lib/ocivariant-setup/docker.json"
    # shellcheck disable=SC2086 # words
    in_rpm_tree -e $names 2>&1 | tee "$work/told"
    rm -r "$tree/var/lib/ocivariant-setup"
    grep -q 'set up to ask it: docker\.' "$work/told"
    grep -q 'variantctl setup --uninstall' "$work/told"
    grep -qx 'tag_ttl: 5s' "$tree/etc/ocivariant/config.yaml.rpmsave"
    left | sed -E '\#/etc/ocivariant(/config.yaml.rpmsave)?$|/run/ocivariant$#d' | tee "$work/left"
    [ ! -s "$work/left" ]
}
