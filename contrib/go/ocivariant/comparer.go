// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

// Comparer orders descriptors of one index as a decision does, for clients that pick from the index by themselves.
type Comparer struct {
	places map[string]int
}

// Comparer returns the order of the decision as a comparer.
func (d *Decision) Comparer() Comparer {
	places := map[string]int{}
	for i, entry := range d.Order {
		if _, seen := places[entry.Digest]; !seen {
			places[entry.Digest] = i
		}
	}
	return Comparer{places}
}

// Match tells whether the host runs the image of the descriptor.
func (c Comparer) Match(descriptor Descriptor) bool {
	_, fits := c.places[descriptor.Digest]
	return fits
}

// Less tells whether a is better than b. What does not fit is worse than all that does.
func (c Comparer) Less(a, b Descriptor) bool {
	placeA, fits := c.places[a.Digest]
	placeB, otherFits := c.places[b.Digest]
	return fits && (!otherFits || placeA < placeB)
}
