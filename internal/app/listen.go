package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// portsTried is how many ports above one that is taken are tried to find a free one.
const portsTried = 20

// taken explains why an address cannot be listened on: by which setting another one is chosen, and which one is free.
func taken(ctx context.Context, err error, setting, address string) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; choose another address with %s", err, setting)
	}
	host, text, _ := net.SplitHostPort(address)
	port, _ := strconv.Atoi(text) // of an address that was listened on
	for next := port + 1; next <= min(port+portsTried, 1<<16-1); next++ {
		free := net.JoinHostPort(host, strconv.Itoa(next))
		var lc net.ListenConfig
		ln, tried := lc.Listen(ctx, "tcp", free)
		if tried != nil {
			continue
		}
		_ = ln.Close() // it was only tried
		return fmt.Errorf("%w: another program has the address. %s=%s is free: set it and start again", err, setting, free)
	}
	return fmt.Errorf("%w: another program has the address; choose another one with %s", err, setting)
}
