# SPDX-License-Identifier: GPL-3.0-or-later
# What PROGRAM [VERB] --help prints -> its manual page (man(7)).
#   awk -v name="variantctl-index-create" -v section=1 -v date=2026-11-22 -v version=0.2.0 -v summary="write an index" \
#       -v also="page lines" -f man.awk
function escape(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    sub(/^['.]/, "\\\\\\&&", text)
    return text
}
# a paragraph's line, split into lines that mandoc(1) accepts
function say(text,    at)
{
    while (length(text) > 78) {
        for (at = 78; at > 1 && substr(text, at, 1) != " "; at--)
            ;
        if (at == 1)
            break
        print escape(substr(text, 1, at - 1))
        text = substr(text, at + 1)
    }
    print escape(text)
}
function leave() { if (literal) print ".EE"; literal = 0 }
function heading(text) { leave(); print ".SH " toupper(text); part = text; open = 0 }
# the page's first lines are printed once the first sentence of the description is known
function begin(what,    i)
{
    if (begun)
        return
    begun = 1
    sub(/[.:]$/, "", what)
    print ".TH " toupper(escape(name)) " " section " " date " \"ocivariant " version "\""
    print ".SH NAME\n" escape(name) " \\- " tolower(substr(what, 1, 1)) escape(substr(what, 2))
    print ".SH SYNOPSIS\n.nf"
    for (i = 1; i <= usages; i++)
        print escape(usage[i])
    print ".fi"
}
FNR == 1 || in_usage {
    if (FNR == 1 && !/^Usage: /) {
        print "no usage: " $0 >"/dev/stderr"
        exit failed = 1
    }
    in_usage = !/^$/
    if (in_usage) {
        sub(/^(Usage: |       )/, "")
        usage[++usages] = $0
        next
    }
}
/^[A-Z][A-Za-z ]*:$/ {
    begin(summary)
    heading(substr($0, 1, length($0) - 1))
    if (part == "Examples") {
        print ".EX"
        literal = 1
    }
    next
}
literal {
    sub(/^  /, "")
    print escape($0)
    next
}
/^$/ { blank = 1; next }
/^[^ ]/ {
    if (!begun) {
        what = summary != "" ? summary : $0
        if (match(what, /[.:]( |$)/))
            what = substr(what, 1, RSTART)
        begin(what)
        heading("Description")
    } else if (part != "Description" && part != "Notes") {
        heading("Notes")
    } else if (blank) {
        print ".PP"
    }
    blank = 0
    say($0)
    next
}
/^ ? ? ?[^ ]/ || /^  [^ ]/ {
    blank = 0
    # a term that fills its column is followed by one blank
    if (/^  -/ && substr($0, 27, 2) ~ /^ [^ ]/ && substr($0, 28) !~ /^-/)
        $0 = substr($0, 1, 27) " " substr($0, 28)
    sub(/^ +/, "")
    at = match($0, /  +/)
    term = at ? substr($0, 1, at - 1) : $0
    text = at ? substr($0, at + RLENGTH) : ""
    print ".TP\n.B " escape(term)
    if (text != "")
        say(text)
    next
}
{
    sub(/^ +/, "")
    say($0)
}
END {
    if (failed)
        exit 1
    begin(summary)
    leave()
    if (also != "")
        print ".SH SEE ALSO\n" also
}
