#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Type into an interactive shell and say what its line has become.

    type_tab.py bash|zsh|fish PREFIX TEXT...

Each TEXT is typed at a prompt of a shell without configuration of the user's, which finds the
completions of the installation in PREFIX. A TAB in it is typed once the shell has shown what stands
before. Printed is the shell's line, one for each TEXT. Two TABs list what there is: of that the
candidates are printed behind it, as the screen has them, after " | ".
"""
import os
import pty
import re
import select
import sys
import time

SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SETUP = {
    "bash": "set +o history; PS1=READY'> '; bind 'set bell-style none'; bind 'set page-completions off'; "
            "bind 'set completion-query-items 0'; bind 'set enable-bracketed-paste off'; "
            "for f in PREFIX/share/bash-completion/completions/*; do . $f; done; "
            "show() { printf '%s' \"$READLINE_LINE\" >\"$LINE\"; }; bind -x '\"\\C-xp\": show'",
    "zsh": "unsetopt prompt_sp prompt_cr; PS1=READY'> '; fpath=(PREFIX/share/zsh/site-functions $fpath); "
           "autoload -Uz compinit; compinit -u -d $TMPDIR/zcompdump; LISTMAX=10000; unsetopt beep; "
           "show() { print -rn -- \"$BUFFER\" >$LINE }; zle -N show; bindkey '^Xp' show",
    "fish": "function fish_prompt; echo -n READY'> '; end; function fish_right_prompt; end; "
            "set -g fish_autosuggestion_enabled 0; set -p fish_complete_path PREFIX/share/fish/vendor_completions.d; "
            "bind \\cxp 'commandline > $LINE'",
}


def read_until(fd, wanted, limit=60.0):
    """What the terminal shows until `wanted` is in it."""
    seen = ""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        ready, _, _ = select.select([fd], [], [], 0.05)
        if not ready:
            if wanted in seen:
                return seen
            continue
        try:
            seen += os.read(fd, 65536).decode(errors="replace")
        except OSError:
            break
    raise SystemExit(f"no {wanted!r} in: {seen[-2000:]!r}")


def line_of(fd, path):
    """Ask the shell for its line: it writes a file. The key waits behind what is being completed."""
    if os.path.exists(path):
        os.remove(path)
    os.write(fd, b"\x18p")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        drain(fd)
        if os.path.exists(path):
            time.sleep(0.05)
            with open(path, encoding="utf-8") as file:
                return file.read().rstrip("\n")
    raise SystemExit("the shell does not tell its line")


def drain(fd):
    seen = ""
    while select.select([fd], [], [], 0.05)[0]:
        seen += os.read(fd, 65536).decode(errors="replace")
    return seen


def main():
    shell, prefix, texts = sys.argv[1], sys.argv[2], sys.argv[3:]
    path = os.path.join(os.environ["TMPDIR"], f"line.{os.getpid()}")
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(LINE=path, TERM="dumb", COLUMNS="200", LINES="50")
        os.execvp(SHELLS[shell][0], SHELLS[shell])
    time.sleep(0.2)
    os.write(fd, SETUP[shell].replace("PREFIX", prefix).encode() + b"\r")
    read_until(fd, "READY>")
    for text in texts:
        drain(fd)
        for part in re.split("(\t)", text):
            if part:
                os.write(fd, part.encode())
        print(line_of(fd, path))
        os.write(fd, b"\x15" if shell != "fish" else b"\x05\x15")
    os.close(fd)
    os.waitpid(pid, 0)


main()
