package monitors

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox/outboxtest"
	"stead.dev/stead/internal/platform/probe"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/mailer"
)

// targetsEnv makes the program of the tests a server of targets: what that uses is not the monitors'.
const targetsEnv = "STEAD_BENCH_TARGETS"

func TestMain(m *testing.M) {
	if os.Getenv(targetsEnv) != "" {
		serveTargets()
	}
	os.Exit(m.Run())
}

// serveTargets answers every address but those below /hang/, until its parent ends.
func serveTargets() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/hang/") {
			<-r.Context().Done()
			return
		}
		_, _ = fmt.Fprintln(w, "here")
	})}
	go func() { _ = server.Serve(l) }()
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // its end
	os.Exit(0)
}

// targets starts that server and returns its address.
func targets(b *testing.B) string {
	b.Helper()
	c := exec.CommandContext(b.Context(), os.Args[0])
	c.Env = append(os.Environ(), targetsEnv+"=1")
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(line)
}

func benched(b *testing.B, f func(b *testing.B, s *Service, base string)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		b.Run(engine, func(b *testing.B) {
			var d *db.DB
			if engine == "sqlite" {
				d = testkit.SQLite(b, clock.System(0))
			} else {
				d = testkit.Open(b, testkit.PostgresURL(b), clock.System(0))
			}
			log := slog.New(slog.DiscardHandler)
			box, err := secret.OpenKeyFile(filepath.Join(b.TempDir(), "key"))
			if err != nil {
				b.Fatal(err)
			}
			s := New(Config{
				DB: d, Clock: clock.System(0), Events: &outboxtest.Recorder{}, Box: box, Signals: signal.NewHub(d, clock.System(0), log), Log: log,
				Prober:  probe.New(probe.Config{Clock: clock.System(0), AllowLoopback: true}),
				BaseURL: "http://stead.test", Queue: jobs.Discard{}, Limiter: always{}, Brand: brand.Fixed(brand.Brand{Name: "Stead"}), Letters: &mailer.Writer{Brand: brand.Fixed(brand.Brand{Name: "Stead"}), BaseURL: "https://stead.test"}, AllowLoopback: true,
			})
			s.Connect(Needs{Services: unlimited{}, Owners: unlimited{}, Devices: phones{}})
			f(b, s, targets(b))
		})
	}
}

// watch makes n monitors, with an interval that customers cannot choose where it is short.
func watch(b *testing.B, s *Service, n, interval int, address func(i int) string) {
	b.Helper()
	err := s.DB.InTx(b.Context(), func(ctx context.Context, tx *db.Tx) error {
		for i := range n {
			set := defaults()
			set.Target.Type, set.Target.URL, set.IntervalS = probe.HTTP, address(i), interval
			if _, err := insert(ctx, tx, monitor{
				accountID: 1, shard: i % shards, name: "a monitor", settings: set, status: Pending, badgeToken: secret.Token("", 16), createdAt: tx.Now,
			}, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// begin starts the scheduler and returns what stops it.
func begin(b *testing.B, s *Service, late func(time.Duration)) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	d := s.newScheduler()
	if late != nil {
		d.late = late
	}
	var running sync.WaitGroup
	running.Go(func() { d.run(ctx) })
	return func() { cancel(); running.Wait() }
}

func single(b *testing.B, s *Service, query string) (n int) {
	b.Helper()
	if err := s.DB.QueryRow(b.Context(), query).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// used is the processor time of this process, and that of the database's where it is one of its own.
func used(b *testing.B, s *Service) (own, database time.Duration) {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	own = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	if s.DB.Engine() == "sqlite" {
		return own, 0
	}
	pids, err := db.Collect(b.Context(), s.DB, func(row db.Row) (pid int, err error) {
		err = row.Scan(&pid)
		return pid, err
	}, `SELECT pid FROM pg_stat_activity WHERE datname = current_database()`)
	if err != nil {
		b.Fatal(err)
	}
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has gone
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, f := range fields[11:13] { // utime and stime, in hundredths of a second
			n, err := strconv.Atoi(f)
			if err != nil {
				b.Fatal(err)
			}
			database += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return own, database
}

func passes(b *testing.B, d time.Duration) {
	b.Helper()
	time.Sleep(d) // sleeps: what is measured is what happens meanwhile
}

// BenchmarkChecks checks 300 addresses of this machine each second and keeps what comes of it; in turns with the same checks
// alone, of which nothing is kept.
func BenchmarkChecks(b *testing.B) {
	benched(b, func(b *testing.B, s *Service, base string) {
		const count, seconds = 300, 20
		var spent, database, alone time.Duration
		checks, bare := 0, 0
		watch(b, s, count, 1, func(i int) string { return fmt.Sprintf("%s/%d", base, i) })
		for b.Loop() {
			stop := begin(b, s, nil)
			passes(b, 3*time.Second)
			own, theirs := used(b, s)
			before := single(b, s, `SELECT COUNT(*) FROM monitors_checks`)
			passes(b, seconds*time.Second)
			own2, theirs2 := used(b, s)
			checks += single(b, s, `SELECT COUNT(*) FROM monitors_checks`) - before
			spent, database = spent+own2-own, database+theirs2-theirs
			stop()

			runtime.GC()
			own, _ = used(b, s)
			tick := time.NewTicker(time.Second / count)
			var all sync.WaitGroup
			for i := range count * 5 {
				<-tick.C // sleeps: as often as the scheduler checks
				bare++
				all.Go(func() {
					t := defaults().Target
					t.Type, t.URL = probe.HTTP, fmt.Sprintf("%s/%d", base, i%count)
					if r := s.Prober.Check(b.Context(), t); !r.OK {
						b.Errorf("%+v", r)
					}
				})
			}
			all.Wait()
			tick.Stop()
			own2, _ = used(b, s)
			alone += own2 - own
		}
		if checks < count*seconds*9/10*b.N {
			b.Errorf("only %d checks", checks)
		}
		per := func(d time.Duration, n int) float64 { return d.Seconds() * 1000 / float64(n) }
		b.ReportMetric(per(spent, checks), "cpu-ms/check")
		b.ReportMetric(per(alone, bare), "cpu-ms/bare-check")
		if database > 0 {
			b.ReportMetric(per(database, checks), "database-cpu-ms/check")
		}
		b.ReportMetric(float64(checks)/seconds/float64(b.N), "checks/s")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkStart is the time from the start of a server to all of 1,000 monitors having been checked.
func BenchmarkStart(b *testing.B) {
	benched(b, func(b *testing.B, s *Service, base string) {
		const count = 1000
		watch(b, s, count, 60, func(i int) string { return fmt.Sprintf("%s/%d", base, i) })
		b.ResetTimer()
		stop := begin(b, s, nil)
		testkit.Eventually(b, time.Minute, func() bool {
			return single(b, s, `SELECT COUNT(*) FROM monitors WHERE status = 'up'`) == count
		}, "all are checked")
		b.StopTimer()
		stop()
		b.ReportMetric(b.Elapsed().Seconds(), "s")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkHanging is how late the checks of 1,000 monitors begin, each a minute, of which 300 hang until their timeout of ten
// seconds: from the start on, and through a whole minute after the first round.
func BenchmarkHanging(b *testing.B) {
	benched(b, func(b *testing.B, s *Service, base string) {
		const count, hanging = 1000, 300
		watch(b, s, count, 60, func(i int) string {
			if i < hanging {
				return fmt.Sprintf("%s/hang/%d", base, i)
			}
			return fmt.Sprintf("%s/%d", base, i)
		})
		var (
			mu   sync.Mutex
			late []time.Duration
		)
		stop := begin(b, s, func(d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			late = append(late, d)
		})
		passes(b, 80*time.Second)
		stop()
		slices.Sort(late)
		if len(late) < count*3/2 {
			b.Errorf("only %d checks", len(late))
		}
		b.ReportMetric(float64(len(late)), "checks")
		b.ReportMetric(late[len(late)/2].Seconds()*1000, "late-p50-ms")
		b.ReportMetric(late[len(late)*99/100].Seconds()*1000, "late-p99-ms")
		b.ReportMetric(late[len(late)-1].Seconds()*1000, "late-max-ms")
		b.ReportMetric(0, "ns/op")
	})
}
