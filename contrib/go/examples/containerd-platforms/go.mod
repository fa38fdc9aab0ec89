// SPDX-License-Identifier: LGPL-3.0-or-later

module github.com/ocivariant/ocivariant/contrib/go/examples/containerd-platforms

go 1.22

replace github.com/ocivariant/ocivariant/contrib/go/ocivariant => ../../ocivariant

require (
	github.com/containerd/platforms v1.0.0-rc.2
	github.com/ocivariant/ocivariant/contrib/go/ocivariant v0.0.0
	github.com/opencontainers/image-spec v1.1.1
)

require (
	github.com/containerd/log v0.1.0 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/sirupsen/logrus v1.9.3 // indirect
	golang.org/x/sys v0.26.0 // indirect
)
