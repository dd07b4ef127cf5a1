package accept_test

import (
	"context"
	"log/slog"
	"net"
	"syscall"
	"testing"

	"stead.dev/stead/internal/node/accept"
)

// short has no descriptors left for the first connections.
type short struct {
	net.Listener
	failures int
}

func (s *short) Accept() (net.Conn, error) {
	if s.failures > 0 {
		s.failures--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return s.Listener.Accept()
}

func TestOneErrorIsNotTheEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(net.Listener, context.CancelFunc){
		"closed":    func(l net.Listener, _ context.CancelFunc) { _ = l.Close() },
		"cancelled": func(l net.Listener, cancel context.CancelFunc) { cancel(); _ = l.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			served, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				accept.Each(ctx, (&short{l, 2}).Accept, slog.New(slog.DiscardHandler), func(c net.Conn) {
					_ = c.Close() // it only had to come
					served <- struct{}{}
				})
			}()
			for range 2 {
				c, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				<-served
				_ = c.Close() // the other side has closed it
			}
			end(l, cancel)
			<-ended
		})
	}
}
