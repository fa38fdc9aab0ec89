# SPDX-License-Identifier: LGPL-3.0-or-later
# config-facts.yaml -> config-facts.h: a table of two texts for each section.

function fail(why) {
    print "config-facts.yaml:" NR ": " why > "/dev/stderr"
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
    print "/* Generated from schema/config-facts.yaml by schema/config-facts.awk. */"
    print "#ifndef OCV_CONFIG_FACTS_H"
    print "#define OCV_CONFIG_FACTS_H"
    print ""
    print "#include <stddef.h>"
    print ""
    print "struct config_fact {"
    print "    const char *a, *b;"
    print "};"
}

/^[a-z_]+:$/ {
    close_section()
    name = $1
    sub(/:$/, "", name)
    print "static const struct config_fact config_" name "[] __attribute__((unused)) = {"
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
    if (n != 2)
        fail("not two texts")
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
