# SPDX-License-Identifier: LGPL-3.0-or-later
# vocabulary.yaml -> vocabulary.h: the namespaces that this project owns, sorted by byte, and their
# features in the file's order. Reads the keys it needs at their fixed indentation; anything else
# passes by.

# "[a3, \"910b\"] # why" -> "a3,910b"
function joined(line) {
    sub(/^[^\[]*\[/, "", line)
    sub(/\].*$/, "", line)
    gsub(/[" ]/, "", line)
    return line
}

/^  - namespace: / {
    if ($3 !~ /^[a-z0-9_]+$/ || (n > 0 && names[n - 1] >= $3)) {
        print "vocabulary.yaml:" NR ": bad name or not in order: " $3 > "/dev/stderr"
        failed = 1
        exit 1
    }
    names[n++] = $3
}

/^    kind: / {
    if ($2 != "cpu" && $2 != "gpu" && $2 != "npu" && $2 != "api") {
        print "vocabulary.yaml:" NR ": unknown kind: " $2 > "/dev/stderr"
        failed = 1
        exit 1
    }
    if ($2 == "cpu")
        cpu[n_cpu++] = names[n - 1]
    if ($2 == "api")
        api[n_api++] = names[n - 1]
    if ($2 == "gpu")
        gpu[n_gpu++] = names[n - 1]
}

/^    documented: true/ { early[n - 1] = 1 }
/^      - feature: / {
    owner[n_features + 0] = n - 1
    feature[n_features++] = $3
}
/^        downwards: / { downwards[n_features - 1] = joined($0) }
/^        names: / { called[n_features - 1] = joined($0) }
/^        values: / { values[n_features - 1] = joined($0) }
/^        documented: true/ { all_early[n_features - 1] = 1 }
/^        documented: \[/ { some_early[n_features - 1] = joined($0) }
/^        pattern: '.*'$/ {
    line = $0
    sub(/^[^']*'/, "", line)
    sub(/'$/, "", line)
    gsub(/\\\./, "[.]", line) # how many backslashes gsub writes, awks do not agree on
    if (line ~ /[\\"]/)
        exit failed = 1
    pattern[n_features - 1] = line
}

function text(s) {
    return s == "" ? "NULL" : "\"" s "\""
}

function features(    i) {
    print "/* Values joined by commas, or a pattern; names of products, \"h100=90_real,...\"; the last versions of older majors; `documented`: those that no provider reports yet, \"*\": all. */"
    print "static const struct ocv_vocabulary_feature {"
    print "    const char *ns, *name, *values, *pattern, *documented, *names, *downwards;"
    print "} ocv_vocabulary_features[] __attribute__((unused)) = {"
    for (i = 0; i < n_features; i++)
        print "    {\"" names[owner[i]] "\", \"" feature[i] "\", " text(values[i]) ", " text(pattern[i]) ", " text(all_early[i] || early[owner[i]] ? "*" : some_early[i]) ", " text(called[i]) ", " text(downwards[i]) "},"
    print "};"
}

function array(name, list, count,    i) {
    print "static const char *const " name "[] __attribute__((unused)) = {"
    for (i = 0; i < count; i++)
        print "    \"" list[i] "\","
    print "};"
}

END {
    if (failed || n == 0 || n_cpu == 0 || n_api == 0)
        exit 1
    print "/* SPDX-License-Identifier: LGPL-3.0-or-later */"
    print "/* Generated from schema/vocabulary.yaml by schema/vocabulary.awk. */"
    print "#ifndef OCV_VOCABULARY_H"
    print "#define OCV_VOCABULARY_H"
    print ""
    print "#include <stddef.h>"
    print ""
    print "#define OCV_VOCABULARY_NAMESPACES " n
    print "#define OCV_VOCABULARY_CPU_NAMESPACES " n_cpu
    print ""
    array("ocv_vocabulary_namespaces", names, n)
    array("ocv_vocabulary_cpu_namespaces", cpu, n_cpu)
    array("ocv_vocabulary_api_namespaces", api, n_api)
    array("ocv_vocabulary_gpu_namespaces", gpu, n_gpu)
    print ""
    features()
    print ""
    print "#endif"
}
