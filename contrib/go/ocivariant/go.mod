module github.com/ocivariant/ocivariant/contrib/go/ocivariant

go 1.22
