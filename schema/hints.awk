# SPDX-License-Identifier: LGPL-3.0-or-later
# hints.yaml -> hints.h: properties and what they need, sorted by property.

function quoted(line) {
    sub(/^[^"]*"/, "", line)
    sub(/"[^"]*$/, "", line)
    return line
}

function literal(text) {
    return text == "" ? "NULL" : "\"" text "\""
}

/^  - property: "/ {
    property = quoted($0)
    if (n > 0 && properties[n] >= property) {
        print "hints.yaml:" NR ": not in order: " property > "/dev/stderr"
        failed = 1
        exit 1
    }
    properties[++n] = property
}

/^    what: "/ { what[n] = quoted($0) }
/^    by: "/ { by[n] = quoted($0) }
/^    needs: "/ { needs[n] = quoted($0) }

END {
    if (failed || n == 0)
        exit 1
    print "/* SPDX-License-Identifier: LGPL-3.0-or-later */"
    print "/* Generated from schema/hints.yaml by schema/hints.awk. */"
    print "#include <stddef.h>"
    print ""
    print "static const struct hint_entry {"
    print "    const char *property, *what, *by, *needs;"
    print "} ocv_hints[] = {"
    for (i = 1; i <= n; i++) {
        if (needs[i] == "") {
            print "hints.yaml: " properties[i] " needs nothing" > "/dev/stderr"
            exit 1
        }
        print "    {\"" properties[i] "\", " literal(what[i]) ", " literal(by[i]) ", " literal(needs[i]) "},"
    }
    print "};"
}
