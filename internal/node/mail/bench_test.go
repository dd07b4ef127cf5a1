package mail

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

const (
	benchRounds = 11
	benchBoxes  = 5 // of each account
)

// BenchmarkAccounts tells what an account with five mailboxes costs the facility where there are 10, 1,000 and 5,000, with the
// daemons running: to change one mailbox, to make an account with all five, to apply all accounts when nothing has changed, and to start.
// The accounts before are written as records; keys of DKIM are made ahead, because how long one takes is chance. The sizes take turns,
// so that what else the computer does falls on all alike. STEAD_BENCH_ACCOUNTS stands for the 5,000 when it is set.
func BenchmarkAccounts(b *testing.B) {
	most, err := strconv.Atoi(cmp.Or(os.Getenv("STEAD_BENCH_ACCOUNTS"), "5000"))
	must(b, err)
	sizes := []int{10, min(1000, most), most}
	for b.Loop() {
		var all []*crowd
		for _, n := range sizes {
			all = append(all, newCrowd(b, n))
		}
		change, create := map[int][]time.Duration{}, map[int][]time.Duration{}
		for range benchRounds {
			for i, c := range all {
				change[sizes[i]] = append(change[sizes[i]], c.change())
				create[sizes[i]] = append(create[sizes[i]], c.create())
			}
		}
		median := func(took []time.Duration) float64 {
			slices.Sort(took)
			return float64(took[len(took)/2].Microseconds()) / 1000
		}
		for i, n := range sizes {
			b.ReportMetric(median(change[n]), fmt.Sprintf("change-ms/%d", n))
			b.ReportMetric(median(create[n]), fmt.Sprintf("create-ms/%d", n))
			b.ReportMetric(all[i].reconcile().Seconds(), fmt.Sprintf("reconcile-cpu-s/%d", n))
			b.ReportMetric(all[i].first.Seconds(), fmt.Sprintf("first-start-s/%d", n))
			b.ReportMetric(all[i].restart().Seconds(), fmt.Sprintf("start-s/%d", n))
		}
		b.ReportMetric(median(change[most])/median(change[10]), "change-ratio")
		b.ReportMetric(median(create[most])/median(create[10]), "create-ratio")
		b.ReportMetric(0, "ns/op")
	}
}

// crowd is a machine with many accounts, the first of which are changed in turn.
type crowd struct {
	*world
	b       *testing.B
	key     key
	made    []accounts.Account
	changed int
	first   time.Duration // what the start took that wrote everything
}

func newCrowd(b *testing.B, n int) *crowd {
	b.Helper()
	c := &crowd{world: newWorld(b), b: b}
	must(b, c.Close())
	var err error
	c.key, err = newKey()
	must(b, err)
	for i := range n - benchRounds/2 - 1 {
		a := c.next()
		_, err := c.store.Update(a.Name, func(s *state) error {
			s.told(a)
			s.addKeys(map[string]key{a.Domains[0].Name: c.key})
			s.Elsewhere = map[string]bool{a.Domains[0].Name: false}
			for box := range benchBoxes {
				s.Boxes = append(s.Boxes, c.box(i, box))
			}
			return nil
		})
		must(b, err)
	}
	began := time.Now()
	c.open()
	c.first = time.Since(began)
	for _, a := range c.made { // whose directories are there as on a machine that has run
		must(b, c.Apply(b.Context(), a))
	}
	return c
}

// next is an account that is not there yet.
func (c *crowd) next() accounts.Account {
	n := len(c.made)
	name := fmt.Sprintf("u%d", n)
	a := accounts.Account{Record: accounts.Record{
		Ref: name, Name: name, User: accounts.User{Name: name, UID: 500_000 + n, GID: 500_000 + n}, Domains: []accounts.Domain{{Name: name + ".example"}},
	}}
	c.made = append(c.made, a)
	c.mu.Lock()
	c.here[name] = a
	c.mu.Unlock()
	return a
}

func (c *crowd) box(account, n int) panel.Mailbox {
	return box(fmt.Sprintf("box%d@u%d.example", n, account), func(m *panel.Mailbox) { m.SendLimitPerHour = 200 })
}

// change changes a mailbox of one of the accounts.
func (c *crowd) change() time.Duration {
	c.changed++
	at := c.changed % min(len(c.made), 10)
	m := c.box(at, 0)
	m.QuotaMB = int64(10 + c.changed)
	began := time.Now()
	_, err := c.SetMailbox(c.b.Context(), fmt.Sprintf("u%d", at), m)
	must(c.b, err)
	return time.Since(began)
}

// create makes an account with its mailboxes.
func (c *crowd) create() time.Duration {
	n := len(c.made)
	a := c.next()
	began := time.Now()
	must(c.b, c.Apply(c.b.Context(), a))
	took := time.Since(began)
	_, err := c.store.Update(a.Name, func(s *state) error { s.addKeys(map[string]key{a.Domains[0].Name: c.key}); return nil })
	must(c.b, err)
	began = time.Now()
	for i := range benchBoxes {
		_, err := c.SetMailbox(c.b.Context(), a.Ref, c.box(n, i))
		must(c.b, err)
	}
	return took + time.Since(began)
}

// reconcile applies all accounts and returns the processor time of this process for it.
func (c *crowd) reconcile() time.Duration {
	began := processorTime(c.b)
	for _, a := range c.made {
		must(c.b, c.Apply(c.b.Context(), a))
	}
	return processorTime(c.b) - began
}

// restart is what the start of another agent takes after the machine has lost power: the databases are made anew.
func (c *crowd) restart() time.Duration {
	must(c.b, c.Close())
	must(c.b, os.Remove(c.cfg.dovecotDatabase()))
	must(c.b, os.Remove(c.cfg.postfixDatabase()))
	began := time.Now()
	c.open()
	return time.Since(began)
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
