// Package registrartest is what every adapter of the port registrar has to hold.
package registrartest

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"stead.dev/stead/internal/port/registrar"
)

// World is an adapter with a registry behind it that is the test's own.
type World struct {
	registrar.Registrar
	// Advance moves the registry's clock; GraceFor and RedemptionFor are its periods.
	Advance                 func(time.Duration)
	GraceFor, RedemptionFor time.Duration
	// Free is a name that can be registered, Taken one that another registrar has locked, Movable one
	// that comes at once to whoever knows Code.
	Free, Taken, Movable, Code string
	// RequestTransferOut has another registrar ask for one of ours.
	RequestTransferOut func(name, code string) error
}

// RunSuite checks an adapter; every part has a world of its own.
func RunSuite(t *testing.T, open func(t *testing.T) World) {
	t.Helper()
	for name, part := range map[string]func(*testing.T, World){
		"registration": registration, "renewal": renewal, "the end": theEnd, "transfer in": transferIn,
		"transfer out": transferOut, "settings": settings, "deletion": deletion, "contacts": contacts,
	} {
		t.Run(name, func(t *testing.T) { part(t, open(t)) })
	}
}

// contacts: one that no domain uses can be deleted, once.
func contacts(t *testing.T, w World) {
	d := register(t, w)
	want(t, "a contact that a domain uses", w.DeleteContact(t.Context(), d.Contacts[registrar.Owner]), registrar.Rejected)
	spare, err := w.PutContact(t.Context(), "stead-c2", registrar.Contact{
		Name: "Bek Karimov", Email: "bek@example.com", Phone: "+998901234567", Street: "Navoiy 1", City: "Tashkent", Country: "UZ",
	})
	must(t, err)
	must(t, w.DeleteContact(t.Context(), spare))
	want(t, "a contact that is gone", w.DeleteContact(t.Context(), spare), registrar.NotFound)
}

func want(t *testing.T, what string, err error, kind registrar.Kind) {
	t.Helper()
	if err == nil || registrar.KindOf(err) != kind {
		t.Errorf("%s: %v, want kind %d", what, err, kind)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func contact(t *testing.T, w World) map[registrar.Role]string {
	t.Helper()
	h, err := w.PutContact(t.Context(), "stead-c1", registrar.Contact{
		Name: "Anna Karimova", Email: "anna@example.com", Phone: "+998901234567", Street: "Navoiy 1", City: "Tashkent", Country: "UZ",
	})
	must(t, err)
	return map[registrar.Role]string{registrar.Owner: h}
}

func register(t *testing.T, w World) registrar.Domain {
	t.Helper()
	d, err := w.Register(t.Context(), registrar.Registration{
		TransactionID: "t1", Name: w.Free, Years: 2, Contacts: contact(t, w), Nameservers: []string{"ns1.example.net", "ns2.example.net"},
	})
	must(t, err)
	return d
}

func registration(t *testing.T, w World) {
	checked, err := w.Check(t.Context(), []string{w.Free, w.Taken})
	must(t, err)
	if len(checked) != 2 || checked[0].Available == nil || !*checked[0].Available || *checked[1].Available || checked[1].Reason != "taken" {
		t.Errorf("check: %+v", checked)
	}
	_, err = w.Info(t.Context(), w.Free)
	want(t, "a free name", err, registrar.NotFound)
	other, err := w.Info(t.Context(), w.Taken)
	if err != nil || other.Ours {
		t.Errorf("another's name: %+v %v", other, err)
	}
	d := register(t, w)
	if !d.Ours || d.Status != registrar.Active || !d.ExpiresAt.Equal(d.RegisteredAt.AddDate(2, 0, 0)) {
		t.Errorf("registered: %+v", d)
	}
	read, err := w.Info(t.Context(), w.Free)
	if err != nil || !read.Ours || !read.ExpiresAt.Equal(d.ExpiresAt) || len(read.Nameservers) != 2 {
		t.Errorf("info: %+v %v", read, err)
	}
	_, err = w.Register(t.Context(), registrar.Registration{TransactionID: "t2", Name: w.Free, Years: 1, Contacts: contact(t, w)})
	want(t, "registered again", err, registrar.Exists)
	_, err = w.Register(t.Context(), registrar.Registration{TransactionID: "t3", Name: w.Taken, Years: 1, Contacts: contact(t, w)})
	want(t, "another's", err, registrar.Exists)
	_, err = w.Register(t.Context(), registrar.Registration{TransactionID: "t4", Name: "x" + w.Free, Years: 1})
	want(t, "without a contact", err, registrar.Rejected)
}

func renewal(t *testing.T, w World) {
	d := register(t, w)
	r := registrar.Renewal{TransactionID: "r1", Name: w.Free, Years: 1, ExpiresAt: d.ExpiresAt}
	after, err := w.Renew(t.Context(), r)
	if err != nil || !after.ExpiresAt.Equal(d.ExpiresAt.AddDate(1, 0, 0)) {
		t.Fatalf("renewed: %+v %v", after, err)
	}
	_, err = w.Renew(t.Context(), r)
	want(t, "the same renewal again", err, registrar.Rejected)
	r.Name = w.Taken
	_, err = w.Renew(t.Context(), r)
	want(t, "another's", err, registrar.NotOurs)
}

func theEnd(t *testing.T, w World) {
	d := register(t, w)
	state := func(want registrar.Status) {
		t.Helper()
		now, err := w.Info(t.Context(), w.Free)
		if err != nil || now.Status != want {
			t.Errorf("%s %v, want %s", now.Status, err, want)
		}
	}
	w.Advance(d.ExpiresAt.Sub(d.RegisteredAt))
	state(registrar.Grace)
	_, err := w.Restore(t.Context(), "s0", w.Free)
	want(t, "restored from grace", err, registrar.Rejected)
	w.Advance(w.GraceFor)
	state(registrar.Redemption)
	_, err = w.Renew(t.Context(), registrar.Renewal{TransactionID: "r1", Name: w.Free, Years: 1, ExpiresAt: d.ExpiresAt})
	want(t, "renewed in redemption", err, registrar.Locked)
	back, err := w.Restore(t.Context(), "s1", w.Free)
	if err != nil || back.Status != registrar.Active || !back.ExpiresAt.Equal(d.ExpiresAt.AddDate(1, 0, 0)) {
		t.Errorf("restored: %+v %v", back, err)
	}
	w.Advance(back.ExpiresAt.Sub(d.ExpiresAt) + w.RedemptionFor)
	state(registrar.PendingDelete)
	w.Advance(10 * 24 * time.Hour)
	_, err = w.Info(t.Context(), w.Free)
	want(t, "gone", err, registrar.NotFound)
}

func deletion(t *testing.T, w World) {
	d := register(t, w)
	must(t, w.Delete(t.Context(), w.Free))
	now, err := w.Info(t.Context(), w.Free)
	if err != nil || now.Status != registrar.Redemption {
		t.Errorf("deleted: %+v %v", now, err)
	}
	want(t, "deleted again", w.Delete(t.Context(), w.Free), registrar.Locked)
	back, err := w.Restore(t.Context(), "s1", w.Free)
	if err != nil || back.Status != registrar.Active || !back.ExpiresAt.Equal(d.ExpiresAt) {
		t.Errorf("restored: %+v %v", back, err)
	}
	must(t, w.Delete(t.Context(), w.Free))
	w.Advance(w.RedemptionFor + 10*24*time.Hour)
	_, err = w.Info(t.Context(), w.Free)
	want(t, "gone", err, registrar.NotFound)
	want(t, "what is gone", w.Delete(t.Context(), w.Free), registrar.NotFound)
	want(t, "another's", w.Delete(t.Context(), w.Taken), registrar.NotOurs)
}

func transferIn(t *testing.T, w World) {
	contacts := contact(t, w)
	ask := func(name, code string) error {
		return w.Transfer(t.Context(), registrar.TransferIn{TransactionID: "x" + code, Name: name, AuthCode: code, Years: 1, Contacts: contacts})
	}
	want(t, "a wrong code", ask(w.Movable, "wrong"), registrar.AuthCode)
	want(t, "a locked one", ask(w.Taken, w.Code), registrar.Locked)
	want(t, "none", ask(w.Free, w.Code), registrar.NotFound)
	state, err := w.TransferState(t.Context(), w.Movable, time.Time{})
	if err != nil || state != registrar.TransferNone {
		t.Errorf("before: %s %v", state, err)
	}
	must(t, ask(w.Movable, w.Code))
	state, err = w.TransferState(t.Context(), w.Movable, time.Time{})
	if err != nil || state != registrar.TransferDone {
		t.Errorf("after: %s %v", state, err)
	}
	want(t, "again", ask(w.Movable, w.Code), registrar.Exists)
}

func transferOut(t *testing.T, w World) {
	register(t, w)
	code, err := w.AuthCode(t.Context(), w.Free)
	if err != nil || len(code) < 8 {
		t.Fatalf("code of %d characters, %v", len(code), err)
	}
	must(t, w.SetLock(t.Context(), w.Free, true))
	want(t, "a locked one", w.RequestTransferOut(w.Free, code), registrar.Locked)
	must(t, w.SetLock(t.Context(), w.Free, false))
	must(t, w.RequestTransferOut(w.Free, code))
	m, ok, err := w.Poll(t.Context())
	if err != nil || !ok || m.Name != w.Free {
		t.Fatalf("notice: %+v %v %v", m, ok, err)
	}
	must(t, w.Acknowledge(t.Context(), m.ID))
	if _, ok, err := w.Poll(t.Context()); ok || err != nil {
		t.Errorf("a notice that was acknowledged: %v %v", ok, err)
	}
	must(t, w.AnswerTransfer(t.Context(), w.Free, true))
	d, err := w.Info(t.Context(), w.Free)
	if err != nil || d.Ours {
		t.Errorf("transferred away: %+v %v", d, err)
	}
	_, err = w.AuthCode(t.Context(), w.Free)
	want(t, "the code of another's", err, registrar.NotOurs)
}

func settings(t *testing.T, w World) {
	register(t, w)
	glue := registrar.Host{Name: "ns1." + w.Free, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}
	ds := registrar.DS{KeyTag: 1, Algorithm: 13, DigestType: 2, Digest: "AB"}
	must(t, w.SetHosts(t.Context(), w.Free, []registrar.Host{glue}))
	must(t, w.SetNameservers(t.Context(), w.Free, []string{glue.Name}))
	must(t, w.SetPrivacy(t.Context(), w.Free, true))
	must(t, w.SetDNSSEC(t.Context(), w.Free, []registrar.DS{ds}))
	must(t, w.SetContacts(t.Context(), w.Free, contact(t, w)))
	d, err := w.Info(t.Context(), w.Free)
	must(t, err)
	if !slices.Equal(d.Nameservers, []string{glue.Name}) || !d.Privacy || len(d.DS) != 1 || d.DS[0] != ds || len(d.Hosts) != 1 ||
		d.Contacts[registrar.Owner] == "" {
		t.Errorf("%+v", d)
	}
	want(t, "a host elsewhere", w.SetHosts(t.Context(), w.Free, []registrar.Host{{Name: "ns1.example.net"}}), registrar.Rejected)
	want(t, "another's", w.SetLock(t.Context(), w.Taken, false), registrar.NotOurs)
}
