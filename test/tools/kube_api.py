#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube_api.py CERT KEY FILE: a stand-in for an API server that keeps every POST as a JSON line in FILE and
answers 201. Prints its port."""
import http.server
import json
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open(sys.argv[3], "a", encoding="utf-8") as out:
            out.write(json.dumps({"path": self.path, "token": self.headers["Authorization"], "body": body}) + "\n")
        self.send_response(201)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
