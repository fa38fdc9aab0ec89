// SPDX-License-Identifier: LGPL-3.0-or-later

// Package ocivariant chooses, from an OCI image index whose entries say what hardware they need, the entry for one
// machine. The machine is described by a profile, which variantd serves and "variantctl probe" prints.
//
//	index, err := ocivariant.ParseIndex(body, contentType)
//	profile, err := ocivariant.NewClient("").Profile(ctx)
//	decision, err := ocivariant.Resolve(index, profile, ocivariant.Options{})
//	if entry := decision.Selected(); entry != nil { pull(entry.Digest) }
//
// It makes the same choice as libocivariant, with the same limits and the same codes. An index in the index is not
// looked into: it is rejected as "nested". Nothing but [Client] does I/O. Indexes, profiles and decisions do not
// change, so that any number of goroutines may read them.
package ocivariant

import (
	"errors"
	"fmt"
)

// Errors that calls of this package wrap; tell them apart with [errors.Is].
var (
	ErrData     = errors.New("malformed data")   // an index, profile, property or answer, or one over a limit
	ErrInvalid  = errors.New("invalid argument") // such as bad options, or a profile without a platform
	ErrNotFound = errors.New("not found")        // an image that variantd cannot find, a socket without variantd
	ErrNetwork  = errors.New("no usable answer") // it came late, cut or with a fault of the server
)

// Limits on what comes from outside.
const (
	maxDocument          = 4 << 20   // bytes of an index or a profile
	maxValues            = 256 << 10 // values of an index; an object counts three times
	maxDepth             = 2048      // levels of JSON
	maxEntries           = 4096      // of an index
	maxProperties        = 512       // of an entry
	maxPropertiesBytes   = 4000      // of an entry's annotation; more rejects the entry
	maxLabel             = 63        // bytes
	maxDigest            = 135       // bytes
	maxIndexNamespaces   = 1024      // used or listed by an index
	maxStatics           = 16        // static namespaces of an index
	maxStaticValues      = 512       // of a static namespace
	maxProfileNamespaces = 256
	maxFeatures          = 4096  // of a namespace or device
	maxFeatureValues     = 65536 // of a feature
	maxDevices           = 1024  // of a namespace
	maxName              = 255   // bytes of host and path of a reference
)

// fault is what the parsers of this package panic with; those that callers see return it as an error.
type fault string

// check ends the parser that runs if something is not as it has to be.
func check(good bool, format string, args ...any) {
	if !good {
		panic(fault(fmt.Sprintf(format, args...)))
	}
}

// catch, deferred by a parser, returns what a check found as an error of the kind.
func catch(err *error, kind error, what string) {
	switch value := recover().(type) {
	case nil:
	case fault:
		*err = fmt.Errorf("%w: %s: %s", kind, what, string(value))
	default:
		panic(value)
	}
}
