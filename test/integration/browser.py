#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page in a real browser, used by its keyboard.

    browser.py PROFILE-DIR PAGE STEP...

A step is a key (Tab, Enter, ArrowRight), or `= EXPRESSION`, whose value is printed as JSON, a line each.
`dark` or `light` sets what the user prefers."""
import json
import os
import subprocess
import sys

KEYS = {"Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    def __init__(self, directory):
        to_read, self.out = os.pipe()
        self.into, to_write = os.pipe()

        def wire():
            os.dup2(to_read, 103)
            os.dup2(to_write, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)
        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={directory}"],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.rest, self.session = 0, b"", None

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                got = os.read(self.into, 65536)
                if not got:
                    sys.exit("the browser has ended")
                self.rest += got
            line, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(line)
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]

    def evaluate(self, text):
        return self.call("Runtime.evaluate", expression=text, returnByValue=True)["result"].get("value")


def main(directory, page, *steps):
    browser = Browser(directory)
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    browser.call("Page.navigate", url="file://" + os.path.abspath(page))
    while browser.evaluate("document.readyState") != "complete" or browser.evaluate("location.protocol") != "file:":
        pass
    for step in steps:
        if step.startswith("= "):
            print(json.dumps(browser.evaluate(step[2:])))
        elif step in ("dark", "light"):
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": step}])
        else:
            for kind in ("rawKeyDown", "char", "keyUp") if step == "Enter" else ("rawKeyDown", "keyUp"):
                browser.call("Input.dispatchKeyEvent", type=kind, key=step, code=step, windowsVirtualKeyCode=KEYS[step],
                             text="\r" if kind == "char" else "")
    browser.process.kill()
    browser.process.wait()


main(*sys.argv[1:])
