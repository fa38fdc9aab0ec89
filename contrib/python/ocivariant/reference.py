# SPDX-License-Identifier: LGPL-3.0-or-later
"""Names of images, as people write them."""
from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import MAX_NAME, InvalidError
from .index import well_formed_digest
from .property import lower

_HOST_SIGN = re.compile(r"[.:A-Z]|^localhost$")
_HOST = re.compile(r"(?:[a-zA-Z0-9]+(?:(?:\.|-+)[a-zA-Z0-9]+)*|\[[0-9a-fA-F:]{2,}\])(?::([0-9]{1,5}))?")
_REST = re.compile(r"([a-z0-9]+(?:(?:\.|__?|-+|/)[a-z0-9]+)*)(?::([a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}))?(?:@(.+))?")
_IMAGE_ID = re.compile(r"[0-9a-f]{64}(?:[:@].*)?")


@dataclass(frozen=True)
class Reference:
    """The name of an image. str() is its complete form, HOST/REPOSITORY[:TAG][@DIGEST]."""
    host: str
    repository: str
    tag: str = ""  # this or the digest may be "", but not both
    digest: str = ""

    def __str__(self) -> str:
        return f"{self.host}/{self.repository}" + (f":{self.tag}" if self.tag else "") + \
            (f"@{self.digest}" if self.digest else "")


def parse_reference(text: str) -> Reference:
    """Parse a name as people write it, and complete it as Docker does. Bad text is an InvalidError."""
    host, slash, rest = text.partition("/")
    if not slash or not _HOST_SIGN.search(host):
        host, rest = "docker.io", text
        if _IMAGE_ID.fullmatch(text):
            raise InvalidError("64 hexadecimal digits are the id of an image")
    place, parts = _HOST.fullmatch(host), _REST.fullmatch(rest)
    if not place or not parts or int(place[1] or 0) > 65535 or parts[3] and not well_formed_digest(parts[3]):
        raise InvalidError(f"'{text[:100]}' is not [HOST/]PATH[:TAG][@DIGEST]")
    if lower(host) in ("index.docker.io", "registry-1.docker.io"):
        host = "docker.io"
    repository = parts[1] if host != "docker.io" or "/" in parts[1] else "library/" + parts[1]
    # with this, and the limits on tag and digest, the whole cannot have more than 1,024 bytes
    if len(host) + 1 + len(repository) > MAX_NAME:
        raise InvalidError(f"host and path have more than {MAX_NAME} bytes")
    return Reference(host, repository, parts[2] or ("" if parts[3] else "latest"), parts[3] or "")
