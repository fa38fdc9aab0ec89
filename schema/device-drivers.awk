# SPDX-License-Identifier: LGPL-3.0-or-later
# device-drivers.yaml -> device-drivers.h: the drivers, their features and the words for values.

function quoted(line) {
    sub(/^[^"]*"/, "", line)
    sub(/"[^"]*$/, "", line)
    return line
}

function literal(text) {
    return text == "" ? "NULL" : "\"" text "\""
}

function fail(why) {
    print "device-drivers.yaml:" NR ": " why > "/dev/stderr"
    failed = 1
    exit 1
}

BEGIN {
    split("at-least below capability is model any", tests, " ")
    for (i in tests)
        code[tests[i]] = toupper(tests[i])
}
/^level: / { split(quoted($0), level, " :: ") }
/^level_label: / { level_label = $2 }
/^  - namespace: / { ns[++n] = $3 }
/^    driver: / { driver[n] = $2 }
/^    label: / { label[n] = $2 }
/^      - feature: / { feature[++f] = $3; owner[f] = n; first[f] = v + 1 }
/^        attribute: / { attribute[f] = $2 }
/^        test: / {
    if (!($2 in code))
        fail("no test " $2)
    test[f] = code[$2]
    gsub(/-/, "_", test[f])
}
/^          - value: / { value[++v] = $3; last[f] = v }
/^            is: "/ { words[v] = quoted($0) }

END {
    if (failed)
        exit 1
    if (n == 0 || f == 0 || level[2] == "" || level_label == "")
        fail("incomplete")
    print "/* SPDX-License-Identifier: LGPL-3.0-or-later */"
    print "/* Generated from schema/device-drivers.yaml by schema/device-drivers.awk. */"
    print "#ifndef OCV_DEVICE_DRIVERS_H"
    print "#define OCV_DEVICE_DRIVERS_H"
    print ""
    print "#include <stddef.h>"
    print ""
    print "#define OCV_LEVEL_NAMESPACE \"" level[1] "\""
    print "#define OCV_LEVEL_FEATURE \"" level[2] "\""
    print "#define OCV_LEVEL_LABEL \"" level_label "\""
    print ""
    print "enum ocv_device_test {"
    print "    OCV_DEVICE_NOTHING,"
    for (i = 1; i in tests; i++) {
        name = toupper(tests[i])
        gsub(/-/, "_", name)
        print "    OCV_DEVICE_" name ","
    }
    print "};"
    print ""
    print "struct ocv_device_word {"
    print "    const char *value, *words;"
    print "};"
    print "struct ocv_device_driver {"
    print "    const char *ns, *name, *label;"
    print "};"
    print "/* words: from `first` on, `n` of them */"
    print "struct ocv_device_feature {"
    print "    size_t driver;"
    print "    const char *name, *attribute;"
    print "    enum ocv_device_test test;"
    print "    size_t first, n;"
    print "};"
    print ""
    print "/* once: pointers into them are compared */"
    print "#ifdef OCV_DEVICE_TABLES"
    print "static const struct ocv_device_word ocv_device_words[] = {"
    for (i = 1; i <= v; i++) {
        if (words[i] == "") {
            print "device-drivers.yaml: " value[i] " is nothing" > "/dev/stderr"
            exit 1
        }
        print "    {\"" value[i] "\", \"" words[i] "\"},"
    }
    print "};"
    print ""
    print "static const struct ocv_device_driver ocv_device_drivers[] = {"
    for (i = 1; i <= n; i++)
        print "    {\"" ns[i] "\", " literal(driver[i]) ", " literal(label[i]) "},"
    print "};"
    print ""
    print "static const struct ocv_device_feature ocv_device_features[] = {"
    for (i = 1; i <= f; i++)
        print "    {" owner[i] - 1 ", \"" feature[i] "\", " literal(attribute[i]) ", OCV_DEVICE_" (test[i] == "" ? "NOTHING" : test[i]) ", " first[i] - 1 ", " (i in last ? last[i] - first[i] + 1 : 0) "},"
    print "};"
    print "#endif"
    print ""
    print "#endif"
}
