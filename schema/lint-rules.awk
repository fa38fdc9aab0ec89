# SPDX-License-Identifier: LGPL-3.0-or-later
# lint-rules.yaml -> lint-rules.h: an enum of the rules and their table, in order of id. Run in the root
# of the tree, where the checks that the rules name are looked up.

function fail(why) {
    print "lint-rules.yaml:" NR ": " why > "/dev/stderr"
    failed = 1
    exit 1
}

# A C string of one line of YAML in double quotes, which has no escapes but \" and \\.
function literal(line) {
    if (line !~ /^    [a-z]+: ".*"$/)
        fail("not one text in quotes: " line)
    sub(/^[^"]*/, "", line)
    return line
}

# Does lib/internal/lint/checks/CHECK.c name the rule?
function named(file, word,    line, found) {
    file = "lib/internal/lint/checks/" file ".c"
    while ((getline line < file) > 0)
        if (line ~ ("(^|[^A-Z_])" word "([^A-Z_]|$)"))
            found = 1
    close(file)
    return found
}

function escaped(text) {
    if (text ~ /[\\"]/)
        fail("an example needs no \" and no backslash: " text)
    return text
}

/^  - id: / {
    if ($3 !~ /^OCV[1-7][0-9][0-9]$/ || (n > 0 && id[n] >= $3))
        fail("bad id or not in order: " $3)
    id[++n] = $3
    block = ""
}
/^    [a-z]+:/ { block = "" }
/^    name: / { name[n] = $2 }
/^    check: / { check[n] = $2 }
/^    level: / {
    if ($2 != "error" && $2 != "warning" && $2 != "note" && $2 != "off")
        fail("unknown level " $2)
    level[n] = toupper($2)
}
/^    fix: / {
    if ($2 != "write" && $2 != "command" && $2 != "no")
        fail("unknown fix " $2)
    fix[n] = toupper($2)
}
/^    what: / { what[n] = literal($0) }
/^    why: / { why[n] = literal($0) }
/^    (bad|good): \|$/ { block = $1; next }
/^      / && block == "bad:" { bad[n] = bad[n] "\n        \"" escaped(substr($0, 7)) "\\n\"" }
/^      / && block == "good:" { good[n] = good[n] "\n        \"" escaped(substr($0, 7)) "\\n\"" }

END {
    if (failed || n == 0)
        exit 1
    print "/* SPDX-License-Identifier: LGPL-3.0-or-later */"
    print "/* Generated from schema/lint-rules.yaml by schema/lint-rules.awk. */"
    print "#ifndef OCV_LINT_RULES_H"
    print "#define OCV_LINT_RULES_H"
    print ""
    print "enum ocv_lint_id {"
    for (i = 1; i <= n; i++) {
        word = toupper(name[i])
        gsub(/-/, "_", word)
        if (word in seen || word == "")
            fail("name missing or not unique: " id[i])
        seen[word] = 1
        if (!named(check[i], "OCV_LINT_" word))
            fail("lib/internal/lint/checks/" check[i] ".c does not name OCV_LINT_" word " (check: of " id[i] ")")
        print "    OCV_LINT_" word ", /* " id[i] " */"
    }
    print "    OCV_LINT_RULES"
    print "};"
    print ""
    print "#define OCV_LINT_RULE_TABLE \\"
    for (i = 1; i <= n; i++) {
        if (level[i] == "" || fix[i] == "" || what[i] == "" || why[i] == "" || bad[i] == "" || good[i] == "")
            fail("incomplete: " id[i])
        row = "    {\"" id[i] "\", \"" name[i] "\", OCV_LINT_" level[i] ", OCV_LINT_FIX_" fix[i] ", " what[i] ", " why[i] "," bad[i] "," good[i] "},"
        gsub(/\n/, " \\\n", row)
        print row (i < n ? " \\" : "")
    }
    print ""
    print "#endif"
}
