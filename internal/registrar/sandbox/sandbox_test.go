package sandbox

import (
	"path/filepath"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/registrar"
	"stead.dev/stead/internal/registrar/registrartest"
)

func TestTheSandboxIsARegistrar(t *testing.T) {
	registrartest.RunSuite(t, func(t *testing.T) registrartest.World {
		clk := clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		r, err := Open(filepath.Join(t.TempDir(), "registry.json"), clk.Now)
		if err != nil {
			t.Fatal(err)
		}
		return registrartest.World{
			Registrar: r, Advance: func(d time.Duration) { clk.Advance(d) }, GraceFor: GraceFor, RedemptionFor: RedemptionFor,
			Free: "shop.example", Taken: "taken-shop.example", Movable: "moved-shop.example", Code: Code,
			RequestTransferOut: r.RequestTransferOut,
		}
	})
}

func TestWhatIsRegisteredOutlivesTheProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "registry.json")
	r, err := Open(file, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.PutContact(t.Context(), "c1", registrar.Contact{Name: "A", Email: "a@example.com", Country: "UZ"}); err != nil {
		t.Fatal(err)
	}
	in := registrar.Registration{TransactionID: "1", Name: "lost-shop.example", Years: 1, Contacts: map[registrar.Role]string{registrar.Owner: "c1"}}
	if _, err := r.Register(t.Context(), in); registrar.KindOf(err) != registrar.Unknown {
		t.Fatalf("the answer was not lost: %v", err)
	}
	again, err := Open(file, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := again.Info(t.Context(), in.Name); err != nil || !d.Ours {
		t.Errorf("%+v %v", d, err)
	}
}

func TestFailuresOnRequest(t *testing.T) {
	r, err := Open("", time.Now)
	if err != nil {
		t.Fatal(err)
	}
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
