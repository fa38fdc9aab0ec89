// SPDX-License-Identifier: LGPL-3.0-or-later

module github.com/ocivariant/ocivariant/contrib/go/examples/go-containerregistry

go 1.22

replace github.com/ocivariant/ocivariant/contrib/go/ocivariant => ../../ocivariant

require github.com/ocivariant/ocivariant/contrib/go/ocivariant v0.0.0

require (
	github.com/containerd/stargz-snapshotter/estargz v0.14.3 // indirect
	github.com/docker/cli v27.1.1+incompatible // indirect
	github.com/docker/distribution v2.8.2+incompatible // indirect
	github.com/docker/docker-credential-helpers v0.7.0 // indirect
	github.com/google/go-containerregistry v0.20.2
	github.com/klauspost/compress v1.16.5 // indirect
	github.com/mitchellh/go-homedir v1.1.0 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.0-rc3 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/sirupsen/logrus v1.9.1 // indirect
	github.com/vbatts/tar-split v0.11.3 // indirect
	golang.org/x/sync v0.2.0 // indirect
	golang.org/x/sys v0.15.0 // indirect
)
