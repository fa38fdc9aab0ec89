# SPDX-License-Identifier: LGPL-3.0-or-later
"""Asking this node's variantd, or variantctl, what the node supports and takes."""
from __future__ import annotations

import http.client
import json
import socket
import subprocess
from typing import Any, Dict
from urllib.parse import quote

from .errors import DataError, Error, InvalidError, NetworkError, NotFoundError
from .profiles import Profile, parse_profile

DEFAULT_SOCKET = "/run/ocivariant/variantd.sock"
MAX_ANSWER = 16 << 20  # bytes; a decision about thousands of entries has megabytes
ANSWER_TIMEOUT = 30.0  # seconds


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=ANSWER_TIMEOUT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(ANSWER_TIMEOUT)
        self.sock.connect(self._path)


class Client:
    """Asks the variantd that listens on the socket."""

    def __init__(self, path: str = DEFAULT_SOCKET) -> None:
        self._path = path

    def profile(self) -> Profile:
        """What this node supports."""
        return parse_profile(self._get("/v1/profile"))

    def resolve(self, reference: str) -> Dict[str, Any]:
        """Which image this node takes of a reference: dev.ocivariant.decision/v1. Images that need credentials are told
        to root and the group ocivariant alone; to others they are a NotFoundError."""
        try:
            answer = json.loads(self._get("/v1/resolve?ref=" + quote(reference, safe="")))
        except (ValueError, RecursionError) as error:
            raise DataError(f"variantd: {error}") from error
        if not isinstance(answer, dict):
            raise DataError("variantd: the answer is not an object")
        return answer

    def _get(self, target: str) -> bytes:
        connection = _UnixConnection(self._path)
        try:
            connection.request("GET", target)
            response = connection.getresponse()
            body = response.read(MAX_ANSWER + 1)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise NotFoundError(f"variantd does not listen at {self._path}") from error
        except (OSError, http.client.HTTPException) as error:
            raise NetworkError(f"variantd: {error}") from error
        finally:
            connection.close()
        if len(body) > MAX_ANSWER:
            raise NetworkError("variantd's answer is too long")
        if response.status == 200:
            return body
        kind = {404: NotFoundError, 400: InvalidError}.get(response.status, NetworkError)
        raise kind(f"variantd: HTTP {response.status}: {body[:300].decode('utf-8', 'replace')}")


def profile(path: str = DEFAULT_SOCKET, program: str = "variantctl") -> Profile:
    """What this machine supports: variantd is asked, and where none listens `variantctl probe` is run."""
    try:
        return Client(path).profile()
    except NotFoundError:
        return probe(program)


def probe(program: str = "variantctl") -> Profile:
    """What `variantctl probe` finds on this machine."""
    command = [program, "probe", "--format", "json"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    except FileNotFoundError as error:
        raise NotFoundError(f"no program {program}") from error
    except subprocess.SubprocessError as error:
        raise Error(f"{program} probe: {error}") from error
    if done.returncode != 0:
        raise Error(f"{program} probe: {done.stderr.decode('utf-8', 'replace').strip()[:300]}")
    return parse_profile(done.stdout)
