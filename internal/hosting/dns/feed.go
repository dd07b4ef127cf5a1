package dns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/nameserver"
)

// Server is where zones are served; *nameserver.Server is one.
type Server interface {
	Set(z nameserver.Zone) error
	Remove(name string)
	Serial(name string) (uint32, bool)
}

// Hub tells of changes made by any replica.
type Hub interface {
	Subscribe(topic string, f func(payload string))
}

// Feed keeps a name server up to date with the tables.
type Feed struct {
	service *Service
	server  Server
	log     *slog.Logger
	wake    chan struct{}

	mu      sync.Mutex
	changed map[int64]bool

	// Used by one goroutine at a time.
	served map[int64]head
	owner  map[string]int64 // which zone is served under a name
}

// NewFeed makes a feed. Load fills the server, Run keeps it filled.
func NewFeed(s *Service, server Server, hub Hub, log *slog.Logger) *Feed {
	f := &Feed{
		service: s, server: server, log: log, wake: make(chan struct{}, 1),
		changed: map[int64]bool{}, served: map[int64]head{}, owner: map[string]int64{},
	}
	hub.Subscribe(topic, f.hear)
	return f
}

func (f *Feed) hear(payload string) {
	id, err := strconv.ParseInt(payload, 10, 64)
	if err != nil {
		return // of a version that says more; the full look finds it
	}
	f.mu.Lock()
	f.changed[id] = true
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default: // it is awake already
	}
}

func (f *Feed) take() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []int64
	for id := range f.changed {
		ids = append(ids, id)
	}
	clear(f.changed)
	slices.Sort(ids)
	return ids
}

const (
	fullLook  = 5 * time.Minute
	loadAgain = time.Second
	loadBatch = 200
)

// Run follows changes until ctx ends. All zones are compared from time to time, for
// what no signal told of.
func (f *Feed) Run(ctx context.Context) {
	full := time.NewTicker(fullLook)
	defer full.Stop()
	again := time.NewTimer(loadAgain)
	again.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-full.C:
			err = f.Load(ctx)
		case <-again.C:
			err = f.Load(ctx)
		case <-f.wake:
			for ids := range slices.Chunk(f.take(), loadBatch) {
				err = errors.Join(err, f.follow(ctx, ids))
			}
		}
		if err != nil && ctx.Err() == nil {
			f.log.Error("dns: zones are not up to date", "error", err)
			again.Reset(loadAgain)
		}
	}
}

// Load serves what the tables hold.
func (f *Feed) Load(ctx context.Context) error {
	f.take() // a full look sees all of them
	now, err := heads(ctx, f.service.DB, nil)
	if err != nil {
		return err
	}
	there := make(map[int64]bool, len(now))
	for _, h := range now {
		there[h.id] = true
	}
	for id := range f.served {
		if !there[id] {
			f.remove(id)
		}
	}
	return errors.Join(f.set(ctx, now), f.setCatalog(ctx))
}

// Lag is the age of the oldest change of a zone that the name server does not serve; 0 when it serves all.
func (f *Feed) Lag(ctx context.Context) (time.Duration, error) {
	all, err := publishedZones(ctx, f.service.DB)
	if err != nil {
		return 0, err
	}
	var lag time.Duration
	for _, v := range all {
		if serial, served := f.server.Serial(v.name); !served || serial != v.serial {
			lag = max(lag, f.service.Clock.Now().Sub(v.changed))
		}
	}
	return lag, nil
}

// follow serves some zones as they are now.
func (f *Feed) follow(ctx context.Context, ids []int64) error {
	now, err := heads(ctx, f.service.DB, ids)
	if err != nil {
		return err
	}
	member := false // came or went
	for _, id := range ids {
		_, known := f.served[id]
		there := slices.ContainsFunc(now, func(h head) bool { return h.id == id })
		if known && !there {
			f.remove(id)
		}
		member = member || known != there
	}
	err = f.set(ctx, now)
	if member {
		err = errors.Join(err, f.setCatalog(ctx))
	}
	return err
}

// set serves those zones that are not served in their version.
func (f *Feed) set(ctx context.Context, now []head) error {
	var ids []int64
	for _, h := range now {
		if f.served[h.id] != h {
			ids = append(ids, h.id)
		}
	}
	var errs []error
	for some := range slices.Chunk(ids, loadBatch) {
		rows, err := zonesWithRecords(ctx, f.service.DB, some)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		for len(rows) > 0 {
			z := rows[0].zone
			var all []record
			for len(rows) > 0 && rows[0].zone.id == z.id {
				all = append(all, rows[0].record)
				rows = rows[1:]
			}
			if err := f.server.Set(served(z, all, f.service.Nameservers)); err != nil {
				errs = append(errs, fmt.Errorf("zone %s: %w", z.name, err))
				continue
			}
			f.served[z.id] = head{z.id, z.name, z.serial}
			f.owner[z.name] = z.id
		}
	}
	return errors.Join(errs...)
}

// remove ends serving a zone, unless another one is served under its name by now.
func (f *Feed) remove(id int64) {
	name := f.served[id].name
	delete(f.served, id)
	if f.owner[name] == id {
		delete(f.owner, name)
		f.server.Remove(name)
	}
}

func (f *Feed) setCatalog(ctx context.Context) error {
	serial, zones, err := catalog(ctx, f.service.DB)
	if err != nil {
		return err
	}
	members := make([]nameserver.Member, len(zones))
	for i, z := range zones {
		members[i] = nameserver.Member{Label: "z" + strconv.FormatInt(z.id, 10), Zone: z.name}
	}
	return f.server.Set(nameserver.Catalog(f.service.Catalog, serial, members))
}
