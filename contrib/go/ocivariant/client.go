// SPDX-License-Identifier: LGPL-3.0-or-later

package ocivariant

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// DefaultSocket is where variantd listens.
const DefaultSocket = "/run/ocivariant/variantd.sock"

const (
	maxAnswer     = 16 << 20 // bytes; a decision about thousands of entries has megabytes
	answerTimeout = 30 * time.Second
)

// Client asks this node's variantd. Any number of goroutines may use one.
type Client struct{ http http.Client }

// Answer is variantd's decision (dev.ocivariant.decision/v1), without the sentences for people.
type Answer struct {
	Index    string // digest of the index
	Source   string // "index", "rule", or "none" for an ordinary image
	Selected *struct {
		Label, Kind       string // "" without one; "variant", "null" or "non-variant"
		Digest, MediaType string
		Size              int64
	} // nil: nothing fits
	Order    []string // labels, best first; the digest of an image without one
	Rejected []struct {
		Label, Digest string
		Code          Code
		Property      string // "namespace :: feature", or ""
		Reason        string // for people
	}
}

// NewClient returns a client of the socket at that path, "" for [DefaultSocket].
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", cmp.Or(path, DefaultSocket))
	}
	return &Client{http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: answerTimeout}}
}

// Profile asks what this node supports.
func (c *Client) Profile(ctx context.Context) (*Profile, error) {
	body, err := c.get(ctx, "/v1/profile")
	if err != nil {
		return nil, err
	}
	return ParseProfile(body)
}

// Resolve asks which image this node takes of a reference. Images that need credentials are told to root and the group
// ocivariant alone; to others they are [ErrNotFound].
func (c *Client) Resolve(ctx context.Context, reference string) (*Answer, error) {
	body, err := c.get(ctx, "/v1/resolve?ref="+url.QueryEscape(reference))
	if err != nil {
		return nil, err
	}
	answer := &Answer{}
	if err := json.Unmarshal(body, answer); err != nil {
		return nil, fmt.Errorf("%w: variantd: %w", ErrData, err)
	}
	return answer, nil
}

func (c *Client) get(ctx context.Context, target string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+target, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%w: variantd does not listen: %w", ErrNotFound, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: variantd: %w", ErrNetwork, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil || len(body) > maxAnswer {
		return nil, fmt.Errorf("%w: variantd's answer is cut or too long", ErrNetwork)
	}
	if response.StatusCode == http.StatusOK {
		return body, nil
	}
	kinds := map[int]error{http.StatusNotFound: ErrNotFound, http.StatusBadRequest: ErrInvalid}
	kind := cmp.Or(kinds[response.StatusCode], ErrNetwork)
	return nil, fmt.Errorf("%w: variantd: HTTP %d: %.300s", kind, response.StatusCode, body)
}
