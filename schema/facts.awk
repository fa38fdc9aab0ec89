# SPDX-License-Identifier: LGPL-3.0-or-later
# config-facts.yaml, lint-facts.yaml -> NAME.h: a table of texts for each section of the file.
#   awk -v name=lint-facts -v record=lint_fact -v prefix=ocv_lint_ -v min=1 -v max=3 -f facts.awk lint-facts.yaml
# A record has `min` to `max` texts, in the members a, b and c; those that it lacks are NULL.

function fail(why) {
    print name ".yaml:" NR ": " why > "/dev/stderr"
    failed = 1
    exit 1
}

function close_section() {
    if (open)
        print "};"
    open = 0
}

BEGIN {
    guard = "OCV_" toupper(name) "_H"
    gsub(/-/, "_", guard)
    print "/* SPDX-License-Identifier: LGPL-3.0-or-later */"
    print "/* Generated from schema/" name ".yaml by schema/facts.awk. */"
    print "#ifndef " guard
    print "#define " guard
    print ""
    print "#include <stddef.h>"
    print ""
    print "struct " record " {"
    print "    const char *" (max == 3 ? "a, *b, *c; /* NULL where the record is shorter */" : "a, *b;")
    print "};"
}

/^[a-z_]+:$/ {
    close_section()
    section = $1
    sub(/:$/, "", section)
    print "static const struct " record " " prefix section "[] __attribute__((unused)) = {"
    open = 1
    next
}

/^  - \[".*"\]$/ {
    if (!open)
        fail("a record outside of a section")
    line = $0
    sub(/^  - \[/, "", line)
    sub(/\]$/, "", line)
    n = split(line, parts, /", "/)
    if (n < min || n > max)
        fail(min == max ? "not " max " texts" : "not " min " to " max " texts")
    while (n++ < max)
        line = line ", NULL"
    print "    {" line "},"
    next
}

/^(#|schema: |$)/ { next }
{ fail("not understood: " $0) }

END {
    if (failed)
        exit 1
    close_section()
    print ""
    print "#endif"
}
