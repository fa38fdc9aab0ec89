#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""pin_webhook.py PORT CERTIFICATE KEY: a mutating webhook on 127.0.0.1 that writes the digest of what a tag names
into pods, as policy engines do: POST /digest makes it REPO@sha256:..., /tag-and-digest REPO:TAG@sha256:...
What a pod pins already is left alone. The registry is asked over plain HTTP. Each change is a line of output."""
import base64
import json
import ssl
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TYPES = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json"


def pinned(image, keep_tag):
    if "@" in image:
        return image
    host, _, rest = image.partition("/")
    repository, _, tag = rest.partition(":")
    url = f"http://{host}/v2/{repository}/manifests/{tag or 'latest'}"
    request = urllib.request.Request(url, method="HEAD", headers={"Accept": TYPES})
    with urllib.request.urlopen(request, timeout=5) as answer:
        digest = answer.headers["Docker-Content-Digest"]
    return f"{image if keep_tag else f'{host}/{repository}'}@{digest}"


def changes(pod, keep_tag):
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(pod["spec"].get(kind, [])):
            image = pinned(container["image"], keep_tag)
            if image != container["image"]:
                print(container["image"], image, flush=True)
                yield {"op": "replace", "path": f"/spec/{kind}/{i}/image", "value": image}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        response = {"uid": request["uid"], "allowed": True}
        patch = list(changes(request["object"], self.path.startswith("/tag-and-digest")))
        if patch:
            response.update(patchType="JSONPatch", patch=base64.b64encode(json.dumps(patch).encode()).decode())
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2], sys.argv[3])
server.socket = context.wrap_socket(server.socket, server_side=True)
print("ready", flush=True)
server.serve_forever()
