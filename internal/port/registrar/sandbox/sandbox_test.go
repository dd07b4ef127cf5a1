package sandbox

import (
	"context"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/port/registrar"
	"stead.dev/stead/internal/port/registrar/registrartest"
)

// stored is a keeper in memory whose first attempt is lost.
type stored struct {
	revision int64
	content  []byte
}

func (k *stored) Keep(_ context.Context, f func(revision int64, content []byte) (next []byte)) error {
	f(k.revision, k.content)
	if next := f(k.revision, k.content); next != nil {
		k.revision, k.content = k.revision+1, next
	}
	return nil
}

func TestTheSandboxIsARegistrar(t *testing.T) {
	registrartest.RunSuite(t, func(t *testing.T) registrartest.World {
		clk := clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		r := New(&stored{}, clk.Now)
		return registrartest.World{
			Registrar: r, Advance: func(d time.Duration) { clk.Advance(d) }, GraceFor: GraceFor, RedemptionFor: RedemptionFor,
			Free: "shop.example", Taken: "taken-shop.example", Movable: "moved-shop.example", Code: Code,
			RequestTransferOut: func(name, code string) error { return r.RequestTransferOut(t.Context(), name, code) },
		}
	})
}

func TestWhatIsRegisteredIsSeenByAllProcesses(t *testing.T) {
	k := &stored{}
	r, other := New(k, time.Now), New(k, time.Now)
	if _, err := other.Info(t.Context(), "lost-shop.example"); registrar.KindOf(err) != registrar.NotFound {
		t.Fatal(err)
	}
	person := registrar.Contact{Name: "Anna", Email: "anna@example.com", Country: "UZ"}
	if _, err := r.PutContact(t.Context(), "c1", person); err != nil {
		t.Fatal(err)
	}
	in := registrar.Registration{TransactionID: "1", Name: "lost-shop.example", Years: 1, Contacts: map[registrar.Role]string{registrar.Owner: "c1"}}
	if _, err := other.Register(t.Context(), in); registrar.KindOf(err) != registrar.Unknown {
		t.Fatalf("the answer was not lost: %v", err)
	}
	for _, one := range []*Registry{r, New(k, time.Now)} {
		if d, err := one.Info(t.Context(), in.Name); err != nil || !d.Ours {
			t.Errorf("%+v %v", d, err)
		}
	}
	if strings.Contains(string(k.content), "Anna") {
		t.Errorf("a person is kept: %s", k.content)
	}
}

// Names that anybody may ask for, and that nobody has had transferred, are not kept; nor are those that former versions have kept.
func TestNamesOfOthersAreNotKept(t *testing.T) {
	k := &stored{revision: 1, content: []byte(`{"domains": {"taken-old.example": {"Name": "taken-old.example", "code": "secret-code"},
		"moved-away.example": {"Name": "moved-away.example", "code": "secret-code", "Contacts": {"owner": "c1"}}}}`)}
	r := New(k, time.Now)
	handle, err := r.PutContact(t.Context(), "c1", registrar.Contact{Name: "Anna", Email: "anna@example.com", Country: "UZ"})
	if err != nil {
		t.Fatal(err)
	}
	kept := func() int {
		other := New(k, time.Now)
		if _, err := other.PutContact(t.Context(), "c2", registrar.Contact{Name: "Bek", Email: "bek@example.com", Country: "UZ"}); err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(k.content), "secret-code")
	}
	for _, name := range []string{"taken-1.example", "moved-1.example", "slow-1.example"} {
		if all, err := r.Check(t.Context(), []string{name}); err != nil || *all[0].Available {
			t.Errorf("%s: %v %v", name, all, err)
		}
		if d, err := r.Info(t.Context(), name); err != nil || d.Ours {
			t.Errorf("%s: %+v %v", name, d, err)
		}
		err := r.Transfer(t.Context(), registrar.TransferIn{Name: name, AuthCode: "wrong"})
		if kind := registrar.KindOf(err); kind != registrar.AuthCode && kind != registrar.Locked {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.PutContact(t.Context(), "c1", registrar.Contact{Name: "Anna", Email: "anna@example.com", Country: "UZ"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := kept(); n != 1 {
		t.Errorf("%d names are kept, want the one that was transferred away: %s", n, k.content)
	}
	err = r.Transfer(t.Context(), registrar.TransferIn{Name: "slow-1.example", AuthCode: Code, Years: 1, Contacts: map[registrar.Role]string{registrar.Owner: handle}})
	if err != nil {
		t.Fatal(err)
	}
	if n := kept(); n != 2 {
		t.Errorf("%d names are kept: %s", n, k.content)
	}
	if state, err := New(k, time.Now).TransferState(t.Context(), "slow-1.example", time.Time{}); err != nil || state != registrar.TransferPending {
		t.Errorf("%s %v", state, err)
	}
}

func TestFailuresOnRequest(t *testing.T) {
	r := New(nil, time.Now)
	for name, want := range map[string]registrar.Kind{
		"down-shop.example": registrar.Unreachable, "refused-shop.example": registrar.Rejected, "taken-shop.example": registrar.Rejected,
	} {
		if _, err := r.Register(t.Context(), registrar.Registration{Name: name, Years: 1}); registrar.KindOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Check(t.Context(), []string{"check-fails-x.example"}); registrar.KindOf(err) != registrar.Unreachable {
		t.Errorf("%v", err)
	}
}
