# SPDX-License-Identifier: LGPL-3.0-or-later
"""What can go wrong, and the limits on what comes from outside."""
from contextlib import contextmanager
from typing import Iterator


class Error(Exception):
    """An error of this package; `code` tells its kinds apart."""
    code = "error"


class DataError(Error):
    """A malformed index, profile, property or answer, or one over a limit."""
    code = "data"


class InvalidError(Error):
    """A wrong argument, such as bad options, or a profile without a platform."""
    code = "invalid"


class NotFoundError(Error):
    """An image that variantd cannot find, or a socket without variantd."""
    code = "not-found"


class NetworkError(Error):
    """An answer that came late, cut or with a fault of the server."""
    code = "network"


@contextmanager
def about(what: str) -> Iterator[None]:
    """Say in DataErrors what they are about."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{what}: {error}") from error


MAX_DOCUMENT = 4 << 20  # bytes of an index or a profile
MAX_VALUES = 256 << 10  # values of an index; an object counts three times
MAX_DEPTH = 512  # levels of JSON, which Python reads by recursion
MAX_ENTRIES = 4096  # of an index
MAX_PROPERTIES = 512  # of an entry
MAX_PROPERTIES_BYTES = 4000  # of an entry's annotation; more rejects the entry
MAX_LABEL = 63  # bytes
MAX_DIGEST = 135  # bytes
MAX_NAME = 255  # bytes of host and path of a reference
MAX_INDEX_NAMESPACES = 1024  # used or listed by an index
MAX_STATICS = 16  # static namespaces of an index
MAX_STATIC_VALUES = 512  # of a static namespace
MAX_PROFILE_NAMESPACES = 256
MAX_FEATURES = 4096  # of a namespace or device
MAX_FEATURE_VALUES = 65536  # of a feature
MAX_DEVICES = 1024  # of a namespace
