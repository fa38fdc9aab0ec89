# SPDX-License-Identifier: LGPL-3.0-or-later
# vocabulary.yaml -> vocabulary-words.h: what `variantctl vocabulary` and completion tell of each word. `providers`
# (-v) names the declarative providers' files.

# "[a3, \"910b\"] # why" -> "a3,910b"
function joined(line) {
    sub(/^[^\[]*\[/, "", line)
    sub(/\].*$/, "", line)
    gsub(/[" ]/, "", line)
    return line
}

# What stands in the line's quotes, double ones or none.
function quoted(line) {
    sub(/^ *[a-z]+: */, "", line)
    if (line ~ /^"/) {
        sub(/^"/, "", line)
        sub(/".*$/, "", line)
    }
    if (line ~ /[\\"]/) {
        print "vocabulary.yaml:" NR ": escapes are not read" > "/dev/stderr"
        exit failed = 1
    }
    return line
}

function text(s) {
    return s == "" ? "NULL" : "\"" s "\""
}

BEGIN {
    n_files = split(providers, files, " ")
    for (i = 1; i <= n_files; i++) {
        sub(/.*\//, "", files[i])
        is_file[files[i]] = 1
    }
}
/^  - namespace: / { name[++n] = $3; first[n] = n_features + 0 }
/^    kind: / { kind[n] = $2 }
/^    documented: true/ { early[n] = 1 }
/^    meaning: / { meaning[n] = quoted($0) }
/^      - feature: / { feature[n_features++] = $3; count[n]++ }
/^        names: / { called[n_features - 1] = joined($0) }
/^        values: / { values[n_features - 1] = joined($0) }
/^        documented: true/ { documented[n_features - 1] = "*" }
/^        documented: \[/ { documented[n_features - 1] = joined($0) }
/^        meaning: / { says[n_features - 1] = quoted($0) }
/^        brief: / { brief[n_features - 1] = quoted($0) }
/^        example: / { example[n_features - 1] = quoted($0) }
/^        pattern: '.*'$/ {
    line = $0
    sub(/^[^']*'/, "", line)
    sub(/'$/, "", line)
    gsub(/\\\./, "[.]", line)
    pattern[n_features - 1] = line
}

END {
    if (failed || n == 0)
        exit 1
    print "/* SPDX-License-Identifier: LGPL-3.0-or-later */"
    print "/* Generated from schema/vocabulary.yaml by schema/vocabulary-words.awk. */"
    print "#ifndef OCV_VOCABULARY_WORDS_H"
    print "#define OCV_VOCABULARY_WORDS_H"
    print ""
    print "#include \"cmd/common/names.h\""
    print ""
    print "static const struct vocabulary_feature vocabulary_features[] = {"
    for (i = 0; i < n_features; i++)
        print "    {" text(feature[i]) ", " text(values[i]) ", " text(pattern[i]) ", " text(documented[i]) ", " text(says[i]) ", " text(example[i]) ", " text(called[i]) ", " text(brief[i]) "},"
    print "};"
    print ""
    print "static const struct vocabulary_namespace vocabulary_namespaces[] = {"
    for (i = 1; i <= n; i++) {
        file = name[i] ".yaml"
        print "    {" text(name[i]) ", " text(kind[i]) ", " text(meaning[i]) ", " (file in is_file ? text(file) : early[i] ? "NULL" : "\"\"") ", " first[i] ", " count[i] "},"
    }
    print "};"
    print ""
    print "#endif"
}
