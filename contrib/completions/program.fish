# SPDX-License-Identifier: GPL-3.0-or-later
# fish completion for @PROGRAM@, which is asked itself: "@PROGRAM@ __complete WORD... CURRENT" prints a line
# "CANDIDATE<TAB>WHAT IT IS" for each and then ":N" (2: no space behind it, 4: no files, 16: directories).

function __ocivariant_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l begun (string match -r -- '^--[^=]*=' $word)
    set -l answer ($words[1] __complete $words[2..-1] "$word" 2>/dev/null)
    set -l how (string sub -s 2 -- $answer[-1])
    string match -qr '^[0-9]+$' -- "$how"; or return
    # fish puts a space behind an only candidate that ends otherwise; of two it types what they share
    set -l only (string replace -r '\t.*' '' -- $answer[1])
    if test (count $answer) -eq 2 -a (math "bitand($how, 2)") -ne 0; and not string match -qr '[/=@:.,-]$' -- $only
        set -l next ($words[1] __complete $words[2..-1] "$begun$only" 2>/dev/null | string replace -r '\t.*' '')[1]
        string match -q -- "$only?*" $next; or set next $only(string match -q '*oci:*' -- $only; and echo :; or echo ,)
        set answer $answer[1] $next $answer[2]
    end
    if test (count $answer) -gt 1
        string replace -r -- '^' "$begun" $answer[1..-2]
    else if test (math "bitand($how, 16)") -ne 0
        __fish_complete_directories (string replace -- "$begun" '' $word)
    else if test (math "bitand($how, 4)") -eq 0
        __fish_complete_path (string replace -- "$begun" '' $word)
    end
end
complete -c @PROGRAM@ -f -a '(__ocivariant_complete)'
