# SPDX-License-Identifier: LGPL-3.0-or-later
# lint-rules.yaml -> docs/lint.md (make docs)

function quoted(line) {
    sub(/^[^"]*"/, "", line)
    sub(/"$/, "", line)
    return line
}

function group(id) {
    return substr(id, 4, 1)
}

BEGIN {
    titles[1] = "OCV1xx: the index"
    titles[2] = "OCV2xx: properties"
    titles[3] = "OCV3xx: tags"
    titles[4] = "OCV4xx: image configurations"
    titles[5] = "OCV5xx: layout and older clients"
    titles[6] = "OCV6xx: signatures and attestations"
    titles[7] = "OCV7xx: code in the images' files (--deep)"
    print "<!-- Generated from schema/lint-rules.yaml by schema/lint-docs.awk. -->"
    while ((getline line < "schema/lint-intro.md") > 0)
        if (line !~ /^<!-- SPDX/)
            print line
}

/^  - id: / { id[++n] = $3; block = "" }
/^    [a-z]+:/ { block = "" }
/^    name: / { name[n] = $2 }
/^    level: / { level[n] = $2 }
/^    fix: / { fix[n] = $2 }
/^    what: / { what[n] = quoted($0) }
/^    why: / { why[n] = quoted($0) }
/^    (bad|good): \|$/ { block = $1; next }
/^      / && block == "bad:" { bad[n] = bad[n] "    " substr($0, 7) "\n" }
/^      / && block == "good:" { good[n] = good[n] "    " substr($0, 7) "\n" }

END {
    fixes["write"] = "`--fix` corrects it"
    fixes["command"] = "the finding says what to run or change"
    fixes["no"] = ""
    print ""
    print "| rule | name | level | `--fix` |"
    print "|---|---|---|---|"
    for (i = 1; i <= n; i++)
        print "| [" id[i] "](#" tolower(id[i]) "-" name[i] ") | " name[i] " | " level[i] " | " (fix[i] == "write" ? "yes" : "") " |"
    for (i = 1; i <= n; i++) {
        if (i == 1 || group(id[i]) != group(id[i - 1]))
            print "\n## " titles[group(id[i])]
        print "\n### " id[i] " " name[i]
        print "\n" what[i] " " why[i]
        print "\nLevel: " level[i] (fixes[fix[i]] == "" ? "" : "; " fixes[fix[i]]) "."
        print "\nBad:\n"
        printf "%s", bad[i]
        print "\nGood:\n"
        printf "%s", good[i]
    }
}
