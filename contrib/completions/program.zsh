#compdef @PROGRAM@
# SPDX-License-Identifier: GPL-3.0-or-later
# zsh completion for @PROGRAM@, which is asked itself: "@PROGRAM@ __complete WORD... CURRENT" prints a line
# "CANDIDATE<TAB>WHAT IT IS" for each and then ":N" (2: no space behind it, 4: no files, 16: directories).

local -a before answer candidates
local line how
before=("${(@Q)words[1,CURRENT-1]}")
answer=("${(@f)$("${before[@]:0:1}" __complete "${(@)before[2,-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
how=${answer[-1]#:}
[[ $how == <-> ]] || return 1
# behind "--name=" candidates are values
[[ $PREFIX != --*=* ]] || compset -P 1 '*='
for line in "${(@)answer[1,-2]}"; do
    candidates+=("${${line%%$'\t'*}//:/\\:}:${${line#*$'\t'}/#${line%%$'\t'*}}")
done
if (( $#candidates )); then
    if (( how & 2 )); then
        _describe -V candidate candidates -S ''
    else
        _describe -V candidate candidates
    fi
elif (( how & 16 )); then
    _directories
elif (( !(how & 4) )); then
    _files
fi
