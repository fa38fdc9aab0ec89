# SPDX-License-Identifier: LGPL-3.0-or-later
# daemon-metrics.yaml -> daemon-metrics.h: enums of the metrics and of the outcomes, and their tables.

function fail(why) {
    print "daemon-metrics.yaml:" NR ": " why > "/dev/stderr"
    failed = 1
    exit 1
}

function literal(line) {
    if (line !~ /^ +[a-z0-9_]+: ".*"$/)
        fail("not one text in quotes: " line)
    sub(/^[^"]*/, "", line)
    return line
}

/^metrics:/ { part = "metrics" }
/^labels:/ { part = "labels" }
/^  - name: / {
    if (part != "metrics" || $3 !~ /^(variantd|process)_[a-z_]+$/ || $3 in seen)
        fail("bad name, or not unique: " $3)
    seen[$3] = 1
    name[++n] = $3
}
/^    type: / {
    if ($2 != "counter" && $2 != "gauge" && $2 != "histogram")
        fail("unknown type " $2)
    type[n] = $2
}
/^    labels: / {
    if (NF > 3)
        fail("more than two labels")
    first[n] = $2
    second[n] = $3
}
/^    help: / { help[n] = literal($0) }
/^  - label: / {
    label = $3
    known[label] = 1
}
/^      [a-z0-9_]+: / && label == "outcome" {
    text = literal($0)
    outcome[++outcomes] = substr($1, 1, length($1) - 1)
    meaning[outcomes] = substr(text, 2, length(text) - 2)
}

END {
    if (failed || n == 0 || outcomes == 0)
        exit 1
    print "/* SPDX-License-Identifier: LGPL-3.0-or-later */"
    print "/* Generated from schema/daemon-metrics.yaml by schema/daemon-metrics.awk. */"
    print "#ifndef OCV_DAEMON_METRICS_H"
    print "#define OCV_DAEMON_METRICS_H"
    print ""
    print "enum metric {"
    for (i = 1; i <= n; i++) {
        if (type[i] == "" || help[i] == "" || (first[i] && !(first[i] in known)) || (second[i] && !(second[i] in known)))
            fail("incomplete, or with a label that is not described: " name[i])
        word[i] = toupper(name[i])
        sub(/^VARIANTD_/, "", word[i])
        print "    METRIC_" word[i] ","
    }
    print "    METRIC_COUNT"
    print "};"
    print ""
    print "/** How a request on the mirror ended. */"
    print "enum outcome {"
    for (i = 1; i <= outcomes; i++)
        print "    OUTCOME_" toupper(outcome[i]) ", /**< " meaning[i] " */"
    print "    OUTCOME_COUNT"
    print "};"
    print ""
    print "#define METRIC_TABLE \\"
    for (i = 1; i <= n; i++)
        print "    [METRIC_" word[i] "] = {\"" name[i] "\", \"" type[i] "\", {" (first[i] ? "\"" first[i] "\"" : "NULL") ", " (second[i] ? "\"" second[i] "\"" : "NULL") "}, " help[i] "}," (i < n ? " \\" : "")
    print ""
    print "#define OUTCOME_TABLE \\"
    for (i = 1; i <= outcomes; i++)
        print "    [OUTCOME_" toupper(outcome[i]) "] = \"" outcome[i] "\"," (i < outcomes ? " \\" : "")
    print ""
    print "#endif"
}
