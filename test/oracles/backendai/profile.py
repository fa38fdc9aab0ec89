# SPDX-License-Identifier: GPL-3.0-or-later
"""contrib/backendai's question to variantctl, without Backend.AI. $VARIANTCTL: the program, $NODE: this node's kind,
$SCRATCH: an empty directory."""

import asyncio
import os
import stat

import world
from ocivariant_backendai.heartbeat import Fragment


def program(text):
    path = f"{os.environ['SCRATCH']}/variantctl"
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, stat.S_IRWXU)
    return path


def same():
    """The plug-in says what `variantctl export backendai` prints."""
    said = asyncio.run(Fragment(os.environ["VARIANTCTL"]).get())
    assert said == world.fragment(os.environ["NODE"]), said


def rarely():
    """Heartbeats come every few seconds: the program is not run for each."""
    command = program(f'echo x >>{os.environ["SCRATCH"]}/calls; exec {os.environ["VARIANTCTL"]} "$@"\n')

    async def beats(fragment):
        return [await fragment.get() for _ in range(5)]

    first = asyncio.run(beats(Fragment(command)))
    assert all(f == first[0] for f in first)
    with open(f'{os.environ["SCRATCH"]}/calls') as file:
        assert len(file.readlines()) == 1
    asyncio.run(beats(Fragment(command, interval=0)))
    with open(f'{os.environ["SCRATCH"]}/calls') as file:
        assert len(file.readlines()) == 6


def trouble():
    """A program that fails, hangs, says nonsense or is not there costs its answer, not the heartbeat."""
    for text, error in (("echo 'variantctl: odd' >&2; exit 1\n", "variantctl: odd"), ("exit 3\n", "status 3"),
                        ("exec sleep 60\n", "no answer in 0.2 seconds"), ("echo '{}'\n", "no 'ocivariant'"),
                        ("echo '[]'\n", "no 'ocivariant'"), ("echo x\n", "Expecting value"),
                        ("head -c 5000000 /dev/zero\n", "more than")):
        said = asyncio.run(Fragment(program(text), timeout=0.2 if "sleep" in text else 20).get())
        assert set(said) == {"error"} and error in said["error"], (text, said)
    said = asyncio.run(Fragment("/nonexistent/variantctl").get())
    assert "No such file" in said["error"]

    async def given_up():
        """A task that is cancelled leaves no process behind."""
        number = f'{os.environ["SCRATCH"]}/number'
        task = asyncio.create_task(Fragment(program(f"echo $$ >{number}.new; mv {number}.new {number}; exec sleep 60\n")).get())
        while not os.path.exists(number):
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        with open(number) as file:
            return int(file.read())

    try:
        os.kill(asyncio.run(given_up()), 0)
    except ProcessLookupError:
        pass
    else:
        raise AssertionError("its process lives on")

    async def later():
        fragment = Fragment(os.environ["VARIANTCTL"], interval=0)
        good = await fragment.get()
        fragment._command = program("exit 1\n")
        kept = await fragment.get()
        fragment._command = os.environ["VARIANTCTL"]
        return good, kept, await fragment.get()

    good, kept, again = asyncio.run(later())
    assert kept == {**good, "error": "status 1"} and again == good


if __name__ == "__main__":
    world.run({f.__name__: f for f in (same, rarely, trouble)})
