#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Provider files -> providers.h: each file's text and what a machine must have for it to say anything.
# A probe passes over a file that the build knew where its machine has none of that. The text makes
# sure: a file that was changed, or that is new, is parsed like any other.
#
#   plugins/providers/index.sh FILE...
set -eu

echo '/* SPDX-License-Identifier: GPL-3.0-or-later */'
echo '/* Generated from plugins/providers/ by index.sh. */'
echo '#include "lib/probe/declarative/declarative.h"'
echo
echo 'static const struct ocv_known_file ocv_known_files[] = {'
for file; do
    size=$(wc -c <"$file")
    echo "    {"
    sed -e 's/[\\"]/\\&/g' -e 's/.*/        "&\\n"/' "$file"
    awk -v size="$size" '
    function word(text) {
        gsub(/["{},]/, "", text)
        return text
    }
    # what stands after a key, wherever it is on the line: each once
    function each(key, pattern, list,    line, text) {
        line = $0
        while (match(line, key ": " pattern)) {
            text = word(substr(line, RSTART + length(key) + 2, RLENGTH - length(key) - 2))
            line = substr(line, RSTART + RLENGTH)
            if (index(" " list " ", " " text " ") == 0)
                list = list (list == "" ? "" : " ") text
        }
        return list
    }
    /^[ ]*#/ { next }
    /^namespace: / { ns = word($2) }
    /^name: / { name = word($2) }
    /^version: / { version = word($2) }
    /^replaces: / { replaces = 1 }
    { vendors = each("vendor", "\"[0-9a-f][0-9a-f][0-9a-f][0-9a-f]\"", vendors) }
    { classes = each("class", "[a-z_][a-z0-9_]*", classes) }
    /devicetree: / { tree = "true" }
    END {
        if (ns == "" || replaces) # a size that no file has: always parsed
            size = 0
        printf "        , %d, \"%s\", \"%s\", \"%s\", \"%s\", \"%s\", %s},\n", size, ns,
            name == "" ? ns : name, version == "" ? "1" : version, vendors, classes,
            tree == "" ? "false" : tree
    }' "$file"
done
echo '};'
