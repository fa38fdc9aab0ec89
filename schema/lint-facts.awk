# SPDX-License-Identifier: LGPL-3.0-or-later
# lint-facts.yaml -> lint-facts.h: a table of up to three texts for each section.

function fail(why) {
    print "lint-facts.yaml:" NR ": " why > "/dev/stderr"
    failed = 1
    exit 1
}

function close_section() {
    if (open)
        print "};"
    open = 0
}

NR == 1 {
    print "/* SPDX-License-Identifier: LGPL-3.0-or-later */"
    print "/* Generated from schema/lint-facts.yaml by schema/lint-facts.awk. */"
    print "#ifndef OCV_LINT_FACTS_H"
    print "#define OCV_LINT_FACTS_H"
    print ""
    print "#include <stddef.h>"
    print ""
    print "struct lint_fact {"
    print "    const char *a, *b, *c; /* NULL where the record is shorter */"
    print "};"
}

/^[a-z_]+:$/ {
    close_section()
    name = $1
    sub(/:$/, "", name)
    print "static const struct lint_fact ocv_lint_" name "[] __attribute__((unused)) = {"
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
    if (n > 3)
        fail("more than three texts")
    while (n++ < 3)
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
