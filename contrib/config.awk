# SPDX-License-Identifier: GPL-3.0-or-later
# Makes /etc/ocivariant/config.yaml for packages from docs/configuration.md: the list of all keys,
# each line commented out.
BEGIN {
    print "# The configuration of vpull, variantctl, variantd and the hooks: /usr/share/doc/ocivariant-data/configuration.md"
    print "# Every key has a default, so this file may stay as it is. Here are all of them, with values as a node"
    print "# might have them. `variantd --check` reads it as a start would; `systemctl reload variantd` makes it hold."
    print ""
}
/^```yaml$/ { inside = 1; next }
inside && /^```$/ { exit }
inside { print $0 == "" ? "" : "#" $0 }
