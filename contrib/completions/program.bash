# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# bash completion for @PROGRAM@, which is asked itself: "@PROGRAM@ __complete WORD... CURRENT" prints a line
# "CANDIDATE<TAB>WHAT IT IS" for each and then ":N" (2: no space behind it, 4: no files, 16: directories).

_ocivariant()
{
    local -a words=()
    local rest=${COMP_LINE:0:COMP_POINT} word answer how candidate begun i
    COMPREPLY=()
    # bash splits words at ":" and "="; join parts that have no blank between them
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == 0)) || [[ $rest == [[:space:]]* ]]; then
            words+=('')
        fi
        rest=${rest#"${rest%%[![:space:]]*}"}
        [[ $rest == "$word"* ]] || word=$rest # the cursor is inside it
        words[${#words[@]} - 1]+=$word
        rest=${rest#"$word"}
    done
    answer=$("${words[0]}" __complete "${words[@]:1}" 2>/dev/null) || return 0
    how=${answer##*:}
    answer=${answer%:*}
    word=${words[${#words[@]} - 1]}
    begun=''
    # after "--name=" the candidates are values
    if [[ $word == --*=* ]]; then
        [[ $COMP_WORDBREAKS == *=* ]] || begun=${word%%=*}=
        word=${word#*=}
    fi
    # bash already has the text before its last break
    while [[ $word == *[:=]* && $COMP_WORDBREAKS == *"$(printf '%s' "$word" | tr -dc ':=' | tail -c 1)"* ]]; do
        word=${word%"${word##*[:=]}"}
        break
    done
    [[ $word == *[:=] ]] || word=''
    while IFS=$'\t' read -r candidate _; do
        [ -z "$candidate" ] || COMPREPLY+=("$begun${candidate#"$word"}")
    done <<<"$answer"
    if ((how & 2)); then
        compopt -o nospace 2>/dev/null
    fi
    if ((${#COMPREPLY[@]} == 0 && how & 16)); then
        compopt -o dirnames 2>/dev/null
    elif ((${#COMPREPLY[@]} == 0 && !(how & 4))); then
        compopt -o default 2>/dev/null
    fi
    return 0
}
complete -F _ocivariant @PROGRAM@
