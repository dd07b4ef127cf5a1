package account

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/mailer"
)

const (
	goodPassword  = "correct horse battery"
	otherPassword = "staple of the wrong colour"
)

// everySection has no section switched off, unless it is in it.
type everySection map[api.Section]bool

func (s everySection) Enabled(x api.Section) bool { return !s[x] }

// queue keeps the jobs of committed transactions.
type queue struct {
	mu   sync.Mutex
	jobs []river.JobArgs
}

func (q *queue) Enqueue(_ context.Context, tx *db.Tx, args river.JobArgs, _ *river.InsertOpts) error {
	tx.OnCommit(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.jobs = append(q.jobs, args)
	})
	return nil
}

// postbox keeps what was sent; broken refuses to.
type postbox struct {
	sent   []mailer.Message
	broken error
}

func (p *postbox) Send(_ context.Context, m mailer.Message) error {
	if p.broken != nil {
		return p.broken
	}
	p.sent = append(p.sent, m)
	return nil
}

// grants counts whose tokens were ended.
type grants map[int64]int

func (g grants) EndAll(_ context.Context, tx *db.Tx, account int64) error {
	tx.OnCommit(func() { g[account]++ })
	return nil
}

func (grants) EndSession(context.Context, *db.Tx, int64, int64) error { return nil }

func (grants) EndOtherSessions(context.Context, *db.Tx, int64, int64) error { return nil }

// world is the section with everything around it faked but the database.
type world struct {
	*Service
	clk     *clock.Fake
	queue   *queue
	post    *postbox
	ended   grants
	told    *[]string // signals
	jobSeen int
}

var home = Client{Address: netip.MustParseAddr("203.0.113.7"), UserAgent: "Firefox on a desk"}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake) *world {
	t.Helper()
	box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	hub := signal.NewHub(d, clk, slog.New(slog.DiscardHandler))
	w := &world{clk: clk, queue: &queue{}, post: &postbox{}, ended: grants{}, told: &[]string{}}
	hub.Subscribe(Topic, func(payload string) { *w.told = append(*w.told, payload) })
	w.Service, err = New(Config{
		DB: d, Clock: clk, Box: box, Queue: w.queue, Signals: hub, Limiter: throttle.New(d, clk), Mailer: w.post,
		Modules: everySection{}, Limits: DefaultLimits(), BaseURL: "https://stead.test", Brand: brand.Fixed(brand.Brand{Name: "Stead"}), Letters: &mailer.Writer{Brand: brand.Fixed(brand.Brand{Name: "Stead"}), BaseURL: "https://stead.test"},
		Language: "en", Currency: "USD", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Connect(Needs{Grants: w.ended, Pushes: NoGrants{}, Referrals: NoReferrals{}})
	w.passwords = newHasher(4, cheap)
	return w
}

// each runs f in a world on each engine.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) { f(t, newWorld(t, d, clk)) })
}

// work runs the jobs that wait, each twice, as the queue may.
func (w *world) work(t *testing.T) {
	t.Helper()
	for ; w.jobSeen < len(w.queue.jobs); w.jobSeen++ {
		for range 2 {
			var err error
			switch a := w.queue.jobs[w.jobSeen].(type) {
			case mailArgs:
				err = w.sendMail(t.Context(), fmt.Sprintf("account-%d", w.jobSeen), a)
			case recoverArgs:
				err = w.startRecovery(t.Context(), a.Email)
			default:
				t.Fatalf("an unknown job %T", a)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// anna registers and stays signed in.
func (w *world) anna(t *testing.T) Outcome {
	t.Helper()
	out, err := w.SignUp(t.Context(), Registration{Name: "Anna", Email: "Anna@Example.com", Password: goodPassword, Locale: "en"}, home)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// withTOTP switches anna's second factor on and answers its seed and codes.
func (w *world) withTOTP(t *testing.T, s Session) (seed string, codes []string) {
	t.Helper()
	e, err := w.EnrolTOTP(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	codes, err = w.ConfirmTOTP(t.Context(), s, w.code(t, e.Key), home)
	if err != nil {
		t.Fatal(err)
	}
	w.clk.Advance(time.Minute) // away from the step that was used
	return e.Key, codes
}

func (w *world) code(t *testing.T, seed string) string {
	t.Helper()
	code, err := totp.GenerateCodeCustom(seed, w.clk.Now(), totpOptions)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func (w *world) alive(t *testing.T, token string) bool {
	t.Helper()
	_, err := w.Authenticate(t.Context(), token)
	return err == nil
}

// linkOf finds the link of the last mail.
func (w *world) linkOf(t *testing.T, path string) string {
	t.Helper()
	w.work(t)
	for i := len(w.post.sent) - 1; i >= 0; i-- {
		if _, rest, ok := strings.Cut(w.post.sent[i].Text, "https://stead.test"+path); ok {
			token, _, _ := strings.Cut(rest, "\n")
			return token
		}
	}
	t.Fatalf("no mail has a link to %s", path)
	return ""
}
