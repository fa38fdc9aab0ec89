# SPDX-License-Identifier: GPL-3.0-or-later
# A page of the documentation (Markdown, as docs/ has it) -> a manual page (man(7)).
#   awk -v name=ocivariant-config -v section=5 -v date=2026-11-22 -v version=0.2.0 -v summary="the keys" \
#       -v also="page lines" -f man-page.awk contrib/man-pages docs/configuration.md
# The first file is the list of all pages: links to a page's source become its name.
# A table becomes a list: the first column is the term, the others follow under their heads.
function plain(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    gsub(/`/, "\\(ga", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    return text
}
function guard(text)
{
    return text ~ /^[.']/ ? "\\&" text : text
}
# a link's target: the manual page made from that source, an address unchanged, nothing for other
# files
function target(path)
{
    sub(/#.*/, "", path)
    if (path == "" || path ~ /^https?:/)
        return path
    sub(/^(\.\.\/)+/, "", path)
    return path in page_of ? page_of[path] : "docs/" path in page_of ? page_of["docs/" path] : ""
}
# `code`, **bold**, *italic*, [text](link), whichever comes first
function inline(text,    out, at, len, part, link, where)
{
    out = ""
    while (match(text, /`[^`]+`|\*\*[^*]+\*\*|\*[a-z]+\*|\[[^]]+\]\([^)]+\)/)) {
        at = RSTART
        len = RLENGTH
        part = substr(text, at, len)
        out = out plain(substr(text, 1, at - 1))
        text = substr(text, at + len)
        if (part ~ /^`/) {
            out = out "\\fB" plain(substr(part, 2, len - 2)) "\\fR"
        } else if (part ~ /^\*\*/) {
            out = out bold(substr(part, 3, len - 4))
        } else if (part ~ /^\*/) {
            out = out "\\fI" plain(substr(part, 2, len - 2)) "\\fR"
        } else {
            match(part, /\]\(/)
            link = substr(part, RSTART + 2, len - RSTART - 2)
            part = substr(part, 2, RSTART - 2)
            where = target(link)
            if (where == "" || where == name "(" section ")")
                out = out inline_code(part)
            else if (where ~ /^http/)
                out = out inline_code(part) " (" plain(where) ")"
            else if (part ~ /\.md$|^plugins\//)
                out = out manual(where)
            else
                out = out inline_code(part) " (" manual(where) ")"
        }
    }
    return out plain(text)
}
function inline_code(text) { gsub(/`/, "", text); return plain(text) }
# bold text may contain `code`
function bold(text) { gsub(/`/, "", text); return "\\fB" plain(text) "\\fR" }
function manual(page,    at)
{
    at = index(page, "(")
    return "\\fB" plain(substr(page, 1, at - 1)) "\\fR" substr(page, at)
}
# a paragraph's text, about one line per sentence
function flow(text,    at, out)
{
    while (length(text) > 72) {
        for (at = 72; at > 1 && substr(text, at, 1) != " "; at--)
            ;
        if (at == 1 && !(at = index(text, " ")))
            break
        out = substr(text, 1, at - 1)
        text = substr(text, at + 1)
        print guard(out)
    }
    if (text != "")
        print guard(text)
}
function flush_text()
{
    if (text != "") {
        if (!fresh)
            print ".PP"
        flow(inline(text))
        fresh = 0
    }
    text = ""
}
function end_table() { if (in_table) { in_table = 0; fresh = 0 } }
# end lists whose text begins right of `column`
function outdent(column)
{
    while (depth && indent[depth] > column) {
        depth--
        if (depth)
            print ".RE"
        fresh = 0
    }
}
function head(macro, what)
{
    end_example()
    flush_text()
    outdent(-1)
    end_table()
    gsub(/`/, "", what)
    what = plain(macro == ".SH" ? toupper(what) : what)
    gsub(/\\\(AQ/, "\\(aq", what) # a character's name, not text
    print macro " " what
    fresh = 1
}
function example(line)
{
    if (!literal) {
        flush_text()
        end_table()
        print (fresh ? "" : ".PP\n") ".RS " (4 + (depth ? width[depth] : 0)) "\n.EX"
        literal = 1
    }
    print line == "" ? "" : guard(plain(line))
}
function end_example() { if (literal) { print ".EE\n.RE"; fresh = 0 } literal = blanks = 0 }
function row(line,    n, i, cell, said)
{
    if (line ~ /^\|[-|: ]+\|$/)
        return
    flush_text()
    gsub(/^\| *| *\|$/, "", line)
    gsub(/\\\|/, "\001", line)
    # a bar inside code does not separate cells
    n = split(line, cells, / +\| +| +\|$|^\| +|\| +/)
    for (i = 1; i <= n; i++)
        gsub(/\001/, "|", cells[i])
    if (!in_table) {
        in_table = 1
        columns = n
        for (i = 1; i <= n; i++)
            heads[i] = inline_code(cells[i])
        return
    }
    cell = inline(cells[1])
    print ".TP"
    print cell == "" ? "(any other)" : guard(cell)
    said = 0
    for (i = 2; i <= columns; i++) {
        if (cells[i] == "" || i > n)
            continue
        if (said)
            print ".br"
        flow((columns > 2 && heads[i] != "" && heads[i] != "meaning" ? "\\fI" heads[i] "\\fR: " : "") inline(cells[i]))
        said = 1
    }
    if (!said)
        print "\\(en"
}
FNR == NR {
    if (!/^#/ && NF > 2)
        page_of[$3] = $1 "(" $2 ")"
    next
}
FNR == 1 {
    print ".TH " toupper(plain(name)) " " section " " date " \"ocivariant " version "\""
    print ".SH NAME\n" plain(name) " \\- " plain(summary)
}
!fenced && /^ *<!--/ { comment = 1 }
comment { if (/-->/) comment = 0; next }
match($0, /^ *```/) { # in a list it is indented
    if (fenced)
        end_example()
    fenced = fenced ? 0 : RLENGTH - 2
    next
}
fenced { example(substr($0, fenced)); next }
/^# / { if (!titled) head(".SH", "Description"); titled = 1; next }
/^## / { head(".SH", substr($0, 4)); next }
/^###+ / { sub(/^#+ /, ""); head(".SS", $0); next }
/^$/ {
    if (literal)
        blanks++
    else
        flush_text()
    blank = 1
    next
}
{
    match($0, /^ */)
    column = RLENGTH
    base = depth ? indent[depth] : 0
    if ((blank || literal) && column >= base + 4) {
        for (; literal && blanks > 0; blanks--)
            print ""
        blanks = 0
        example(substr($0, base + 5))
        blank = 0
        next
    }
    end_example()
}
/^\|/ { outdent(-1); row($0); blank = 0; next }
match($0, /^ *(- |[0-9]+\. )/) {
    rest = RLENGTH
    flush_text()
    end_table()
    mark = substr($0, column + 1, rest - column - 1)
    outdent(column)
    if (!depth || indent[depth] < rest) {
        if (depth)
            print ".RS"
        indent[++depth] = rest
    }
    width[depth] = mark == "-" ? 2 : 4
    print ".IP " (mark == "-" ? "\\(bu" : mark) " " width[depth]
    text = substr($0, rest + 1)
    fresh = 1
    blank = 0
    next
}
{
    if (blank) {
        end_table()
        if (depth && column < indent[depth])
            outdent(column)
        if (depth && text == "") {
            print ".IP \"\" " width[depth]
            fresh = 1
        }
    }
    blank = 0
    sub(/^ +/, "")
    text = text == "" ? $0 : text " " $0
}
END {
    end_example()
    flush_text()
    outdent(-1)
    if (also != "")
        print ".SH SEE ALSO\n" also
}
