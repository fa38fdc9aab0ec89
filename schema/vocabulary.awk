# SPDX-License-Identifier: LGPL-3.0-or-later
# vocabulary.yaml -> vocabulary.h: the namespaces that this project owns, sorted by byte.
# Reads the two keys it needs at their fixed indentation; anything else passes by.

/^  - namespace: / {
    if ($3 !~ /^[a-z0-9_]+$/ || (n > 0 && names[n - 1] >= $3)) {
        print "vocabulary.yaml:" NR ": bad name or not in order: " $3 > "/dev/stderr"
        failed = 1
        exit 1
    }
    names[n++] = $3
}

/^    kind: / {
    if ($2 != "cpu" && $2 != "gpu" && $2 != "npu") {
        print "vocabulary.yaml:" NR ": unknown kind: " $2 > "/dev/stderr"
        failed = 1
        exit 1
    }
    if ($2 == "cpu")
        cpu[n_cpu++] = names[n - 1]
}

function array(name, list, count,    i) {
    print "static const char *const " name "[] __attribute__((unused)) = {"
    for (i = 0; i < count; i++)
        print "    \"" list[i] "\","
    print "};"
}

END {
    if (failed || n == 0 || n_cpu == 0)
        exit 1
    print "/* SPDX-License-Identifier: LGPL-3.0-or-later */"
    print "/* Generated from schema/vocabulary.yaml by schema/vocabulary.awk. */"
    print "#ifndef OCV_VOCABULARY_H"
    print "#define OCV_VOCABULARY_H"
    print ""
    print "#define OCV_VOCABULARY_NAMESPACES " n
    print "#define OCV_VOCABULARY_CPU_NAMESPACES " n_cpu
    print ""
    array("ocv_vocabulary_namespaces", names, n)
    array("ocv_vocabulary_cpu_namespaces", cpu, n_cpu)
    print ""
    print "#endif"
}
