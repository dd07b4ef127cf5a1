package nginx

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/web"
)

const benchRounds = 7

// BenchmarkSites tells what a site with a certificate costs nginx and this package in processor time where there are 10, 300,
// 1,000 and 5,000 accounts with one each: to add a lone one, to add each of 64 at once, to renew its certificate, and to apply
// all accounts when nothing has changed. The sizes take turns, so that what else the computer does falls on all alike. nginx
// has four files open for each account while it reloads: STEAD_BENCH_ACCOUNTS stands for the 5,000 when it is set, where
// processes may not open so many.
func BenchmarkSites(b *testing.B) {
	most, err := strconv.Atoi(cmp.Or(os.Getenv("STEAD_BENCH_ACCOUNTS"), "5000"))
	if err != nil {
		b.Fatal(err)
	}
	sizes := slices.Compact([]int{10, min(300, most), min(1000, most), most})
	for b.Loop() {
		var all []*street
		for _, n := range sizes {
			s := &street{world: newWorld(b, func(c *Config) { c.Interval = time.Second }), b: b}
			s.certificate = s.certified("all.example", "number 1")
			s.renewed = s.certified("all.example", "number 2")
			s.add(n)
			all = append(all, s)
		}
		spent := map[string]map[int]time.Duration{"lone": {}, "of-64": {}, "renewal": {}}
		for range benchRounds {
			for i, s := range all {
				spent["lone"][sizes[i]] += s.spent(func() { s.add(1) })
				spent["of-64"][sizes[i]] += s.spent(func() { s.add(64) }) / 64
				spent["renewal"][sizes[i]] += s.spent(s.renew)
				s.remove(65)
			}
		}
		for what, bySize := range spent {
			for n, sum := range bySize {
				b.ReportMetric(float64(sum.Microseconds())/1000/benchRounds, fmt.Sprintf("%s-cpu-ms/%d", what, n))
			}
			b.ReportMetric(float64(bySize[most])/float64(bySize[10]), what+"-ratio")
		}
		for i, s := range all {
			b.ReportMetric(s.spent(func() { s.each(0, s.made) }).Seconds(), fmt.Sprintf("reconcile-cpu-s/%d", sizes[i]))
		}
		b.ReportMetric(0, "ns/op")
	}
}

// street is a machine with an account after the other, of which each has a site.
type street struct {
	*world
	b                    *testing.B
	certificate, renewed web.Site // of which every site has a copy
	made                 int
}

// site is the site of an account.
func (s *street) site(n int) web.Site {
	site := s.certificate
	site.Domain = fmt.Sprintf("u%d.example", n)
	site.Home, site.DocumentRoot, site.PHP = filepath.Join(s.machine.Dir, "accounts", strconv.Itoa(n)), "public_html", filepath.Join(s.machine.Dir, strconv.Itoa(n)+".sock")
	return site
}

// each applies the accounts from first to before last, many at once.
func (s *street) each(first, last int) {
	var all errgroup.Group
	all.SetLimit(1000)
	for n := first; n < last; n++ {
		all.Go(func() error { return s.Apply(s.b.Context(), "u"+strconv.Itoa(n), []web.Site{s.site(n)}) })
	}
	s.must(all.Wait())
}

func (s *street) add(n int) {
	s.each(s.made, s.made+n)
	s.made += n
}

// remove removes the last n accounts.
func (s *street) remove(n int) {
	var all errgroup.Group
	for range n {
		s.made--
		account := "u" + strconv.Itoa(s.made)
		all.Go(func() error { return s.Apply(s.b.Context(), account, nil) })
	}
	s.must(all.Wait())
}

// renew gives the last account another certificate.
func (s *street) renew() {
	s.certificate, s.renewed = s.renewed, s.certificate
	s.each(s.made-1, s.made)
	s.certificate, s.renewed = s.renewed, s.certificate
}

// spent is the processor time of f, with what nginx does soon after it.
func (s *street) spent(f func()) time.Duration {
	stop := nodetest.ProcessorTime(s.b, s.machine.Dir, s.machine.Supervisor)
	f()
	<-time.After(200 * time.Millisecond) // sleeps: until former workers have ended
	return stop()
}
