// SPDX-License-Identifier: LGPL-3.0-or-later

module github.com/ocivariant/ocivariant/contrib/go/examples/oras-go

go 1.22

replace github.com/ocivariant/ocivariant/contrib/go/ocivariant => ../../ocivariant

require (
	github.com/ocivariant/ocivariant/contrib/go/ocivariant v0.0.0
	oras.land/oras-go/v2 v2.5.0
)

require (
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.0 // indirect
	golang.org/x/sync v0.6.0 // indirect
)
