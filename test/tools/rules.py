#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""rules.py RULES LOG [LAYOUT]: a registry that answers as a JSON list of rules says. Prints its port.

The first rule that fits answers: "method" (a pattern; GET|HEAD), "path" (searched in path and query), "auth" (in the
Authorization header, "^$" is none), "accept"; "times": only so often. Answers: "status" (200), "headers" (an
object, or a list of pairs), "body" (text, or any JSON), or what the OCI layout has ("layout": true), of any
repository, after "wait" seconds. @HOST@ is HOST:PORT, @COUNT@ in a header is another number each time. Every request is a
line in LOG."""
import http.server
import json
import os
import re
import sys
import time


def from_layout(path):
    asked = re.search(r"/(manifests|blobs)/([^?]*)", path)
    if not asked:
        return None
    kind, name = asked.groups()
    if ":" not in name:
        with open(os.path.join(sys.argv[3], "index.json"), encoding="utf-8") as file:
            listed = json.load(file)["manifests"]
        key = "org.opencontainers.image.ref.name"
        found = [m["digest"] for m in listed if (m.get("annotations") or {}).get(key) == name]
        if not found:
            return None
        name = found[0]
    try:
        with open(os.path.join(sys.argv[3], "blobs", *name.split(":")), "rb") as file:
            body = file.read()
    except OSError:
        return None
    headers = {"Docker-Content-Digest": name, "Content-Type": "application/octet-stream"}
    if kind == "manifests":
        document = json.loads(body)
        word = "index" if "config" not in document else "manifest"
        headers["Content-Type"] = document.get("mediaType") or f"application/vnd.oci.image.{word}.v1+json"
    return 200, headers, body


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0

    def fits(self, rule):
        tests = {"path": self.path, "auth": self.headers.get("Authorization", ""),
                 "accept": ",".join(self.headers.get_all("Accept") or [])}
        if not re.fullmatch(rule.get("method", "GET|HEAD"), self.command) or rule.get("times") == 0:
            return False
        return all(re.search(rule[key], text) for key, text in tests.items() if key in rule)

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        rule = next((rule for rule in rules if self.fits(rule)), {"status": 404})
        if "times" in rule:
            rule["times"] -= 1
        body = rule.get("body", "")
        body = body if isinstance(body, str) else json.dumps(body)
        found = rule.get("status", 200), {"Content-Type": "application/json"}, body.encode()
        if rule.get("layout"):
            found = from_layout(self.path) or (404, {}, b"")
        time.sleep(rule.get("wait", 0))
        status, headers, body = found
        given = rule.get("headers", {})
        given = list(given.items()) if isinstance(given, dict) else given
        replaced = {key.lower() for key, _ in given}
        with open(sys.argv[2], "a", encoding="utf-8") as log:
            log.write(f"{self.command} {self.path} {self.headers.get('Authorization', '-')} {status}\n")
        Handler.count += 1
        self.send_response(status)
        for key, value in [*headers.items(), ("Content-Length", str(len(body)))]:
            if key.lower() not in replaced:
                self.send_header(key, value)
        for key, value in given:
            if value is not None:
                self.send_header(key, value.replace("@COUNT@", str(Handler.count)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PATCH = do_POST = do_PUT = answer

    def version_string(self):
        return "rules"

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1], encoding="utf-8") as text:
    rules = json.loads(text.read().replace("@HOST@", f"127.0.0.1:{server.server_port}"))
print(server.server_port, flush=True)
server.serve_forever()
