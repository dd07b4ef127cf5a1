package probe

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	probing "github.com/prometheus-community/pro-bing"
)

// ping sends up to three echo requests to the first address of the host; one reply is enough. It needs no privilege
// where the kernel lets the process's group send them (net.ipv4.ping_group_range), and CAP_NET_RAW elsewhere.
func (p *Prober) ping(ctx context.Context, t Target) Result {
	addresses, r := p.addresses(ctx, t.Host)
	if r.ErrorKey != "" {
		return r
	}
	for _, privileged := range []bool{false, true} {
		pinger := probing.New("")
		pinger.SetIPAddr(&net.IPAddr{IP: addresses[0].AsSlice()})
		pinger.SetPrivileged(privileged)
		pinger.SetLogger(probing.NoopLogger{})
		pinger.Count, pinger.Interval, pinger.Timeout = pings, t.timeout()/(pings+1), t.timeout()
		pinger.RecordRtts = false
		var reply time.Duration
		done, stop := context.WithCancel(ctx)
		pinger.OnRecv = func(pkt *probing.Packet) {
			if reply == 0 {
				reply = max(pkt.Rtt, time.Microsecond)
			}
			stop()
		}
		err := pinger.RunWithContext(done)
		stop()
		switch {
		case reply > 0:
			return Result{OK: true, Response: reply}
		case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EPROTONOSUPPORT), errors.Is(err, syscall.EAFNOSUPPORT):
			continue
		default:
			return failed(KeyNoReply, "no reply within the time")
		}
	}
	return Result{Unknown: true, ErrorKey: KeyInternal, Detail: "this machine may not send echo requests"}
}

const pings = 3
