# SPDX-License-Identifier: LGPL-3.0-or-later
# content-rules.yaml -> content-rules.h: tables of properties, libraries and toolkits.

function fail(why) {
    print "content-rules.yaml:" NR ": " why > "/dev/stderr"
    exit failed = 1
}
function quoted(line) {
    sub(/^[^"]*"/, "", line)
    sub(/".*$/, "", line)
    return line
}
# "namespace :: feature" -> two strings of C
function feature(line) {
    if (split(quoted(line), part, / :: /) != 2)
        fail("not 'namespace :: feature'")
    return "\"" part[1] "\", \"" part[2] "\""
}
function flush() {
    if (kind == "fact")
        properties = properties "    {OCV_CONTENT_" fact ", " property ", " value "},\n"
    if (kind == "library")
        libraries = libraries "    {\"" library "\", \"" is "\", " (property ? property : "NULL, NULL") ", " (label ? label : "NULL") "},\n"
    if (kind == "driver")
        drivers = drivers "    {\"" library "\", \"" is "\", " (below ? below : "NULL") "},\n"
    kind = property = label = below = ""
}

/^  - fact: [A-Z0-9_]+$/ { flush(); kind = "fact"; fact = $3; next }
/^  - library: [A-Za-z0-9_]+\.so$/ { flush(); kind = "library"; library = $3; next }
/^  - driver: [A-Za-z0-9_-]+\.so$/ { flush(); kind = "driver"; library = $3; next }
/^    below: / { below = "\"" quoted($0) "\""; next }
/^  - ptx: [0-9]+\.[0-9]+$/ { flush(); ptx = $3; next }
/^  - setting: [A-Z_]+$/ { flush(); setting = $3; next }
/^    of: [A-Z_]+$/ { of = $2; next }
/^    dotted: (yes|no)$/ {
    settings = settings "    {\"" setting "\", OCV_CONTENT_" of ", " ($2 == "yes" ? "true" : "false") "},\n"
    next
}
/^  - environment: [A-Z_]+$/ { flush(); environment = environment "    \"" $3 "\",\n"; next }
/^  - path: \/[A-Za-z0-9_.\/]+$/ { flush(); path = $3; next }
/^  - label: [a-z.]+$/ { flush(); labels = labels "    \"" $3 "\",\n"; next }
/^    compiles: / { compilers = compilers "    {\"" path "\", \"" quoted($0) "\"},\n"; next }
/^    label: / { label = "\"" quoted($0) "\""; next }
/^    toolkit: [0-9]+\.[0-9]+$/ { toolkits = toolkits "    {\"" ptx "\", \"" $2 "\"},\n"; next }
/^    property: / { property = feature($0); next }
/^    is: / { is = quoted($0); next }
/^    value: / {
    value = quoted($0)
    if (split(value, part, "%") != 2)
        fail("no place for the value")
    value = "\"" part[1] "\", \"" part[2] "\""
    next
}
/^(properties|settings|libraries|toolkits|drivers|compilers|labels|environment):$/ { flush(); next }
!/^#/ && NF { fail("what is this?") }

END {
    if (failed)
        exit 1
    flush()
    print "/* Made of schema/content-rules.yaml. */"
    print "#ifndef GEN_CONTENT_RULES_H\n#define GEN_CONTENT_RULES_H\n"
    print "#include \"lib/internal/content/content.h\"\n"
    print "/** A property is NS :: FEATURE :: BEFORE value-of-the-fact AFTER. */"
    print "__attribute__((unused)) static const struct content_property {\n    enum ocv_content_fact fact;\n    const char *ns, *feature, *before, *after;\n} content_properties[] = {\n" properties "};\n"
    print "/** `ns` is NULL where the version of a library is no property. */"
    print "__attribute__((unused)) static const struct content_library {\n    const char *name, *is, *ns, *feature, *label;\n} content_libraries[] = {\n" libraries "};\n"
    print "__attribute__((unused)) static const struct content_setting {\n    const char *name;\n    enum ocv_content_fact fact;\n    bool dotted;\n} content_settings[] = {\n" settings "};\n"
    print "__attribute__((unused)) static const struct content_toolkit {\n    const char *ptx, *toolkit;\n} content_toolkits[] = {\n" toolkits "};\n"
    print "__attribute__((unused)) static const char *const content_environment[] = {\n" environment "};\n"
    print "/** A library of a driver, by its name; `below` is NULL where a version follows. */"
    print "__attribute__((unused)) static const struct content_driver {\n    const char *name, *is, *below;\n} content_drivers[] = {\n" drivers "};\n"
    print "/** A file whose path ends so brings a compiler that runs with the program. */"
    print "__attribute__((unused)) static const struct content_compiler {\n    const char *path, *is;\n} content_compilers[] = {\n" compilers "};\n"
    print "__attribute__((unused)) static const char *const content_labels[] = {\n" labels "};\n"
    print "#endif"
}
