# SPDX-License-Identifier: LGPL-3.0-or-later
"""Choose, from an OCI image index whose entries say what hardware they need, the entry for one machine.

    index = ocivariant.parse_index(body, content_type)
    decision = ocivariant.resolve(index, ocivariant.profile())
    entry = decision.selected()

The machine is described by a profile, which variantd serves and "variantctl probe" prints. The choice is that of
libocivariant, with the same limits and the same codes. An index in the index is not looked into: it is rejected as
"nested". Only profile(), probe() and Client do I/O."""
from .client import DEFAULT_SOCKET, Client, probe, profile
from .comparer import Comparer
from .decision import Decision, resolve
from .errors import DataError, Error, InvalidError, NetworkError, NotFoundError
from .host import Rejection
from .index import Descriptor, Entry, Index, known_digest, parse_index, well_formed_digest
from .options import ALL, ANY, FIRST, Options
from .platform import Platform, hidden_variant, match_platform
from .profiles import Profile, parse_profile
from .property import Property, parse_properties, parse_property, readable_label, valid_label
from .reference import Reference, parse_reference

__all__ = ["ALL", "ANY", "FIRST", "DEFAULT_SOCKET", "Client", "Comparer", "DataError", "Decision", "Descriptor", "Entry",
           "Error", "Index", "InvalidError", "NetworkError", "NotFoundError", "Options", "Platform", "Profile",
           "Property", "Reference", "Rejection", "hidden_variant", "known_digest", "match_platform", "parse_index",
           "parse_profile", "parse_properties", "parse_property", "parse_reference", "probe", "profile",
           "readable_label", "resolve", "valid_label", "well_formed_digest"]
