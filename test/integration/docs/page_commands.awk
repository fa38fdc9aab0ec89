# SPDX-License-Identifier: GPL-3.0-or-later
# The commands of a page (Markdown): of its shell blocks (```sh), and of what is indented and begins with a
# program.
#   awk -f page_commands.awk PAGE                what is run, as a script
#   awk -v list=1 -f page_commands.awk PAGE      for each such block: LINE<TAB>why it is not run, or nothing<TAB>its first line
# A block that is not run has the reason before it: <!-- not run: REASON -->
# Of a block with prompts ("$ command") the rest is what is shown.
BEGIN {
    programs = "^(vpull|variantctl|variantd|ocivariant-[a-z-]+|apt-get|buildah|cat|chmod|chown|cosign|cp|ctr|curl|docker|echo|eval|" \
        "for|grep|helm|journalctl|kubectl|ln|make|mkdir|notation|podman|printf|regctl|sbatch|sed|skopeo|slurmd|srun|sudo|" \
        "systemctl|test/[a-z.]+|\\.ci/run|rpm|dnf|dpkg|if|while)( |$)"
}
function is_command(line)
{
    sub(/^\$ /, "", line)
    sub(/^([A-Za-z_]+=\$\(|([A-Z_]+=('[^']*'|[^ ]*) )+)/, "", line)
    return line ~ programs
}
function flush(    i, prompts, more)
{
    if (n && (language == "sh" && text[1] !~ /^#!/ || language == "" && is_command(text[1]))) {
        if (list)
            print start "\t" why "\t" text[1]
        for (i = 1; i <= n && !list && why == ""; i++)
            prompts += text[i] ~ /^\$ /
        for (i = 1; i <= n && !list && why == ""; i++)
            if (!prompts) {
                print text[i]
            } else if (more || sub(/^\$ /, "", text[i])) {
                print text[i]
                more = text[i] ~ /\\$/
            }
    }
    if (n)
        why = ""
    n = 0
    language = ""
}
/^```/ {
    flush()
    fenced = !fenced
    language = fenced ? substr($0, 4) : ""
    if (fenced && language == "")
        language = "text"
    start = FNR + 1
    next
}
fenced { text[++n] = $0; next }
/^ *<!-- not run: / {
    flush()
    why = $0
    sub(/^ *<!-- not run: /, "", why)
    sub(/ -->$/, "", why)
    blank = 1
    next
}
/^$/ { blank = 1; if (n) text[++n] = ""; next }
/^    / && (n || blank) {
    match($0, /^ +/)
    if (n && RLENGTH < indent) { # text of a list
        flush()
        why = ""
        blank = 0
        next
    }
    if (!n) {
        start = FNR
        indent = RLENGTH
    }
    text[++n] = substr($0, match($0, /[^ ]/) > indent ? indent + 1 : RSTART)
    next
}
{
    if (why != "" && !n)
        print FILENAME ":" FNR ": no commands behind: " why
    flush()
    why = ""
    blank = 0
}
END { flush() }
