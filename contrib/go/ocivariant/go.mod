// SPDX-License-Identifier: LGPL-3.0-or-later

module github.com/ocivariant/ocivariant/contrib/go/ocivariant

go 1.22
