# SPDX-License-Identifier: LGPL-3.0-or-later
# hints.yaml -> hints.h: properties and what they need, sorted by property.

function quoted(line) {
    sub(/^[^"]*"/, "", line)
    sub(/"[^"]*$/, "", line)
    return line
}

/^  - property: "/ {
    property = quoted($0)
    if (n > 0 && properties[n - 1] >= property) {
        print "hints.yaml:" NR ": not in order: " property > "/dev/stderr"
        failed = 1
        exit 1
    }
    properties[n] = property
}

/^    needs: "/ {
    needs[n++] = quoted($0)
}

END {
    if (failed || n == 0)
        exit 1
    print "/* SPDX-License-Identifier: LGPL-3.0-or-later */"
    print "/* Generated from schema/hints.yaml by schema/hints.awk. */"
    print "static const struct {"
    print "    const char *property, *needs;"
    print "} ocv_hints[] = {"
    for (i = 0; i < n; i++)
        print "    {\"" properties[i] "\", \"" needs[i] "\"},"
    print "};"
}
