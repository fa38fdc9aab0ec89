# SPDX-License-Identifier: LGPL-3.0-or-later
# daemon-metrics.yaml -> docs/metrics.md (make docs)

function quoted(line) {
    sub(/^[^"]*"/, "", line)
    sub(/"$/, "", line)
    return line
}

BEGIN {
    print "<!-- Generated from schema/daemon-metrics.yaml by schema/daemon-metrics-docs.awk. -->"
    while ((getline line < "schema/daemon-metrics-intro.md") > 0)
        if (line !~ /^<!-- SPDX/)
            print line
    print ""
    print "## Metrics"
    print ""
    print "| name | type | labels | |"
    print "|---|---|---|---|"
}

function row() {
    if (name)
        print "| `" name "` | " type " | " labels " | " help " |"
    name = labels = ""
}

/^  - name: / { row(); name = $3 }
/^    type: / { type = $2 }
/^    labels: / {
    labels = "`" $2 "`" ($3 ? ", `" $3 "`" : "")
}
/^    help: / { help = quoted($0) }
/^labels:/ {
    row()
    print ""
    print "## Labels"
}
/^  - label: / { label = $3 }
/^    free: / { print "\n**`" label "`**: " quoted($0) "." }
/^    values:/ {
    print "\n**`" label "`**:\n"
    print "| value | |"
    print "|---|---|"
}
/^      [a-z0-9_]+: / {
    value = $1
    sub(/:$/, "", value)
    print "| `" value "` | " quoted($0) " |"
}
