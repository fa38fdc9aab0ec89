# SPDX-License-Identifier: LGPL-3.0-or-later
# toolkits.yaml -> toolkits.h: the features as constants, and the toolkits as a table.

function fail(why) {
    print "toolkits.yaml:" NR ": " why > "/dev/stderr"
    exit failed = 1
}

# version: "nvidia :: cuda_version_lower_bound"
function property(line) {
    sub(/^[^"]*"/, "", line)
    sub(/".*$/, "", line)
    if (split(line, part, / :: /) != 2)
        fail("not 'namespace :: feature'")
    return line
}

/^version: / {
    version = property($0)
    namespace = part[1]
    feature = part[2]
}
/^device: / {
    property($0)
    if (part[1] != namespace)
        fail("device of another namespace")
    device = part[2]
}
/^minor_from: / { from = $2 }
/^zstd_from: [0-9]+\.[0-9]+$/ { zstd = $2 }
/^minor_label: / { label = $2 }
/^compat: / {
    property($0)
    if (part[1] != namespace)
        fail("compat of another namespace")
    compat = part[2]
}
/^  - driver: [0-9]+$/ {
    if (drivers > 0 && $3 >= driver[drivers])
        fail("not newest first")
    driver[++drivers] = $3
}
/^    cuda: [0-9]+\.[0-9]+$/ {
    split($2, part, ".")
    cuda[drivers] = part[1] ", " part[2]
}
/^tested: / {
    property($0)
    tested_namespace = part[1]
    tested = part[2]
}
/^  - version: [0-9]+\.[0-9]+$/ {
    split($3, part, ".")
    if (n > 0 && part[1] * 1000 + part[2] >= last)
        fail("not newest first")
    last = part[1] * 1000 + part[2]
    row[n + 0] = part[1] ", " part[2]
}
/^    makes: \[[0-9, ]+\]$/ {
    list = $0
    sub(/^[^\[]*\[/, "", list)
    sub(/\].*$/, "", list)
    gsub(/,/, "", list)
    makes[n++] = list
}

END {
    if (failed || n == 0 || drivers == 0 || compat == "" || feature == "" || device == "" || tested == "" || from !~ /^[0-9]+$/ || zstd == "")
        exit 1
    print "/* SPDX-License-Identifier: LGPL-3.0-or-later */"
    print "/* Generated from schema/toolkits.yaml by schema/toolkits.awk. */"
    print "#ifndef OCV_TOOLKITS_H"
    print "#define OCV_TOOLKITS_H"
    print ""
    print "#define OCV_TOOLKIT_NAMESPACE \"" namespace "\""
    print "#define OCV_TOOLKIT_VERSION \"" feature "\""
    print "#define OCV_TOOLKIT_DEVICE \"" device "\""
    print "#define OCV_TOOLKIT_MINOR_FROM " from
    print "#define OCV_TOOLKIT_ZSTD \"" zstd "\""
    print "#define OCV_TOOLKIT_MINOR_LABEL \"" label "\""
    print "#define OCV_TOOLKIT_COMPAT \"" compat "\""
    print "#define OCV_TESTED_NAMESPACE \"" tested_namespace "\""
    print "#define OCV_TESTED_VERSION \"" tested "\""
    print ""
    print "/* Compute capabilities divided by blanks. */"
    print "static const struct ocv_toolkit {"
    print "    unsigned major, minor;"
    print "    const char *makes;"
    print "} ocv_toolkits[] __attribute__((unused)) = {"
    for (i = 0; i < n; i++)
        print "    {" row[i] ", \"" makes[i] "\"},"
    print "};"
    print ""
    print "/* Drivers, newest first, and the CUDA version that they support. */"
    print "static const struct ocv_driver {"
    print "    unsigned branch, major, minor;"
    print "} ocv_drivers[] __attribute__((unused)) = {"
    for (i = 1; i <= drivers; i++)
        print "    {" driver[i] ", " cuda[i] "},"
    print "};"
    print ""
    print "#endif"
}
