package rdap

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
)

// Bootstrap knows the RDAP servers of zones by the list that IANA publishes (RFC 9224). It reads the list when it is first
// needed and once a day afterwards; an old list is better than none.
type Bootstrap struct {
	client  *http.Client
	address string
	clock   clock.Clock

	mu      sync.Mutex
	read    time.Time
	servers map[string]string
}

// How long a list is used, and how long one that could not be read is not tried again.
const (
	listFor  = 24 * time.Hour
	pauseFor = 5 * time.Minute
)

// NewBootstrap makes a Bootstrap of the list at an address.
func NewBootstrap(client *http.Client, address string, c clock.Clock) *Bootstrap {
	return &Bootstrap{client: client, address: address, clock: c}
}

// Server returns the base address of the server for a name; empty when nobody knows.
func (b *Bootstrap) Server(ctx context.Context, name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.clock.Now(); now.Sub(b.read) >= listFor {
		b.read = now
		servers, err := b.fetch(ctx)
		if err != nil {
			b.read = now.Add(pauseFor - listFor)
		} else {
			b.servers = servers
		}
	}
	for _, zone, ok := strings.Cut(name, "."); ok; _, zone, ok = strings.Cut(zone, ".") {
		if server := b.servers[zone]; server != "" {
			return server
		}
	}
	return ""
}

// fetch reads the list. Servers without TLS are left out, unless the list itself comes without.
func (b *Bootstrap) fetch(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("rdap: %s answered %s", b.address, resp.Status)
	}
	var list struct {
		Services [][][]string `json:"services"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&list); err != nil {
		return nil, fmt.Errorf("rdap: %s: %w", b.address, err)
	}
	servers := map[string]string{}
	for _, s := range list.Services {
		if len(s) != 2 {
			continue
		}
		for _, server := range s[1] {
			if !strings.HasPrefix(server, "https://") && strings.HasPrefix(b.address, "https://") {
				continue
			}
			for _, zone := range s[0] {
				servers[strings.ToLower(zone)] = server
			}
			break
		}
	}
	return servers, nil
}
