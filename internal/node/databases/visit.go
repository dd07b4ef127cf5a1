package databases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// A visit is a program's conversation with a server as a database's own user, without that user's password: the program
// proves a secret of the visit's to the agent, which signs in to the server in its place and then passes on what both say.
// So a visit leaves nothing in the server, what it makes belongs to the database's user, and it ends with the agent.

// Visits knows the secrets of visits.
type Visits interface {
	// Visiting finds the visit of a database whose secret is what proves accepts. The conversation ends when ended is closed.
	Visiting(database string, proves func(secret string) bool) (ended <-chan struct{}, ok bool)
}

// visitTime bounds how long a program takes to say who it is.
const visitTime = 10 * time.Second

// errVisit refuses a program. What was wrong is nobody's to know.
var errVisit = errors.New("databases: no such visit")

// Visitable is the engine of a database that may be visited. ErrNotFound, ErrSuspended: see panel.Adminer.
func (d *Driver) Visitable(ref, name string) (panel.DatabaseEngine, error) {
	a, db, _, err := d.find(ref, name)
	if err != nil {
		return "", err
	}
	if a.Suspended || a.OnHold() {
		return "", panel.ErrSuspended
	}
	d.mu.Lock()
	closed := d.sizes[name].hold == holdAll
	d.mu.Unlock()
	if closed {
		return "", fmt.Errorf("%w: %s is too large to be connected to", panel.ErrBusy, name)
	}
	return db.Engine, nil
}

// Visit has a conversation of a program with the server of an engine. It closes the connection at the end.
func (d *Driver) Visit(ctx context.Context, engine panel.DatabaseEngine, program net.Conn, visits Visits) error {
	defer program.Close()
	server, ended, err := d.signIn(ctx, engine, program, visits)
	if err != nil {
		return err
	}
	defer server.Close()
	pass(ctx, program, server, ended)
	return nil
}

func (d *Driver) signIn(ctx context.Context, engine panel.DatabaseEngine, program net.Conn, visits Visits) (net.Conn, <-chan struct{}, error) {
	ctx, cancel := context.WithTimeout(ctx, visitTime)
	defer cancel()
	defer interrupted(ctx, program)()
	switch s := d.servers[engine].(type) {
	case *mariaDB:
		return s.visit(ctx, program, visits)
	case *postgres:
		return s.visit(ctx, program, visits)
	default:
		return nil, nil, fmt.Errorf("%w: no server for %s", panel.ErrUnsupported, engine)
	}
}

// interrupted ends reading and writing when the context ends, until release is called.
func interrupted(ctx context.Context, c net.Conn) (release func() bool) {
	return context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
}

// pass copies between two connections until one of them, the context or the visit ends.
func pass(ctx context.Context, a, b net.Conn, ended <-chan struct{}) {
	over := make(chan struct{})
	var both sync.WaitGroup
	finish := sync.OnceFunc(func() { close(over) })
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			defer finish()
			_, _ = io.Copy(way[0], way[1]) // how it ends is no matter
		})
	}
	select {
	case <-over:
	case <-ended:
	case <-ctx.Done():
	}
	_, _ = a.Close(), b.Close() // ends what still copies
	both.Wait()
}
