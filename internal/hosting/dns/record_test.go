package dns

import (
	"errors"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/nameserver"
)

const zoneName = "anna.uz"

func number(n int) *int { return &n }

func text(s string) *string { return &s }

// reason is why a record is refused; empty when it is not.
func reason(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return ""
	}
	r, _ := f.Fields["reason"].(string)
	return r
}

func TestARecordIsBroughtIntoItsOneForm(t *testing.T) {
	for _, c := range []struct {
		in   fields
		name string
		data string
	}{
		{fields{kind: A, name: "", value: " 192.0.2.1"}, "@", "192.0.2.1"},
		{fields{kind: AAAA, name: "WWW.anna.uz", value: "2001:DB8::0:1"}, "www", "2001:db8::1"},
		{fields{kind: CNAME, name: "*.shop", value: "@"}, "*.shop", "anna.uz."},
		{fields{kind: CNAME, name: "блог", value: "Ghs.Google.com."}, "xn--90aexm", "ghs.google.com."},
		{fields{kind: ALIAS, name: "@", value: "www"}, "@", "www.anna.uz."},
		{fields{kind: NS, name: "sub", value: "ns.other.test"}, "sub", "ns.other.test."},
		{fields{kind: MX, name: "@", value: "mail", priority: number(10)}, "@", "10 mail.anna.uz."},
		{fields{kind: MX, name: "no", value: ".", priority: number(0)}, "no", "0 ."},
		{fields{kind: SRV, name: "_sip._tcp", value: "sip", priority: number(1), weight: number(2), port: number(5060)}, "_sip._tcp", "1 2 5060 sip.anna.uz."},
		{fields{kind: CAA, name: "@", value: "letsencrypt.org", tag: text("Issue")}, "@", `0 issue "letsencrypt.org"`},
		{fields{kind: CAA, name: "@", value: ";", tag: text("issuewild"), flags: number(128)}, "@", `128 issuewild ";"`},
		{fields{kind: CAA, name: "@", value: "mailto:a@anna.uz", tag: text("iodef")}, "@", `0 iodef "mailto:a@anna.uz"`},
		{fields{kind: TXT, name: "_dmarc", value: `v="1"; \ ö`}, "_dmarc", `"v=\"1\"; \\ \195\182"`},
		{fields{kind: TXT, name: "long", value: strings.Repeat("a", 300)}, "long", `"` + strings.Repeat("a", 255) + `" "` + strings.Repeat("a", 45) + `"`},
		{fields{kind: SSHFP, name: "@", value: "4 2 " + strings.Repeat("AB", 32)}, "@", "4 2 " + strings.Repeat("ab", 32)},
		{fields{kind: TLSA, name: "_443._tcp", value: "3 1 1 " + strings.Repeat("ab ", 32)}, "_443._tcp", "3 1 1 " + strings.Repeat("ab", 32)},
		{fields{kind: PTR, name: "1", value: "host.anna.uz"}, "1", "host.anna.uz."},
	} {
		c.in.ttl = 300
		got, err := c.in.parse(zoneName)
		if err != nil {
			t.Errorf("%v: %v", c.in, err)
			continue
		}
		if got.name != c.name || got.data() != c.data {
			t.Errorf("%s is %s %s, want %s %s", c.in.kind, got.name, got.data(), c.name, c.data)
		}
	}
}

func TestARecordThatCannotBeIsRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		in   fields
		want string
	}{
		{fields{kind: "SPF", value: "x"}, "type"},
		{fields{kind: A, value: "2001:db8::1"}, "a"},
		{fields{kind: A, value: "192.0.2.256"}, "a"},
		{fields{kind: AAAA, value: "::ffff:192.0.2.1"}, "aaaa"},
		{fields{kind: MX, value: "192.0.2.1", priority: number(10)}, "host"},
		{fields{kind: CNAME, name: "www", value: "192.0.2.1."}, "host"},
		{fields{kind: A, name: "www.other.test.", value: "192.0.2.1"}, "name_outside"},
		{fields{kind: A, name: "a.*", value: "192.0.2.1"}, "name"},
		{fields{kind: A, name: "a b", value: "192.0.2.1"}, "name"},
		{fields{kind: A, name: strings.Repeat("a", 64), value: "192.0.2.1"}, "name"},
		{fields{kind: A, value: "192.0.2.1", ttl: 59}, "ttl"},
		{fields{kind: A, value: "192.0.2.1", ttl: 86401}, "ttl"},
		{fields{kind: A, value: "192.0.2.1", priority: number(1)}, "field_unused"},
		{fields{kind: MX, value: "mail"}, "field_missing"},
		{fields{kind: MX, value: "mail", priority: number(65536)}, "number"},
		{fields{kind: MX, value: ".", priority: number(10)}, "null_mx"},
		{fields{kind: MX, value: "a;b", priority: number(10)}, "host"},
		{fields{kind: CNAME, name: "a", value: "a"}, "itself"},
		{fields{kind: CNAME, name: "a", value: "x. IN A 1"}, "host"},
		{fields{kind: SRV, name: "sip", value: "x", priority: number(1), weight: number(1), port: number(1)}, "owner_srv"},
		{fields{kind: TLSA, name: "www", value: "3 1 1 00"}, "owner_tlsa"},
		{fields{kind: TLSA, name: "_443._tcp", value: "3 1 1 00"}, "tlsa"},
		{fields{kind: SSHFP, value: "5 2 " + strings.Repeat("ab", 32)}, "sshfp"},
		{fields{kind: NS, name: "*", value: "ns.other.test"}, "owner_ns"},
		{fields{kind: DS, value: "1 8 2 00"}, "owner_ds"},
		{fields{kind: CAA, value: "letsencrypt.org"}, "field_missing"},
		{fields{kind: CAA, value: "x", tag: text("nobody")}, "caa_tag"},
		{fields{kind: CAA, value: "not a name", tag: text("issue")}, "caa_issuer"},
		{fields{kind: CAA, value: "anna", tag: text("iodef")}, "caa_report"},
		{fields{kind: CAA, value: "a.test", tag: text("issue"), flags: number(1)}, "caa_flags"},
		{fields{kind: TXT, value: ""}, "text"},
		{fields{kind: TXT, value: "a\nb"}, "text"},
		{fields{kind: TXT, value: strings.Repeat("a", 4097)}, "text"},
	} {
		if c.in.ttl == 0 {
			c.in.ttl = 300
		}
		_, err := c.in.parse(zoneName)
		if got := reason(err); got != c.want || !errors.Is(err, errInvalid) {
			t.Errorf("%s %s %q: reason %q, want %q", c.in.name, c.in.kind, c.in.value, got, c.want)
		}
		if !i18n.Has("uz", "invalid.dns_"+c.want) {
			t.Errorf("%s has no text", c.want)
		}
	}
}

func TestConflictsAreNamed(t *testing.T) {
	r := func(name string, kind Type, value string) fields {
		f := fields{name: name, kind: kind, value: value, ttl: 300}
		if kind == MX {
			f.priority = number(10)
		}
		return f
	}
	all := []record{
		{id: 1, fields: r("www", A, "192.0.2.1")},
		{id: 2, fields: r("blog", CNAME, "host.test")},
		{id: 3, fields: r("@", ALIAS, "host.test")},
		{id: 4, fields: r("sub", NS, "ns.test")},
		{id: 5, fields: r("@", MX, "mail.anna.uz")},
		{id: 6, fields: r("@", NS, "ns1.stead.test"), system: true},
		{id: 7, fields: r("gone", CNAME, "host.test")},
	}
	all[6].disabled = true
	for _, c := range []struct {
		in   fields
		want string
		with int64
	}{
		{r("new", A, "192.0.2.1"), "", 0},
		{r("www", A, "192.0.2.2"), "", 0},
		{r("www", A, "192.0.2.1"), "duplicate", 1},
		{r("www", CNAME, "host.test"), "cname_beside", 1},
		{r("blog", TXT, "x"), "cname_beside", 2},
		{r("@", CNAME, "host.test"), "cname_apex", 0},
		{r("@", A, "192.0.2.1"), "alias_beside", 3},
		{r("@", NS, "ns.other.test"), "system_record", 0},
		{r("a.sub", TXT, "x"), "delegated", 4},
		{r("ns.sub", A, "192.0.2.1"), "", 0},
		{r("sub", NS, "ns2.test"), "", 0},
		{r("mail", CNAME, "host.test"), "target_cname", 5},
		{r("x", MX, "blog.anna.uz"), "target_cname", 2},
		{r("gone", A, "192.0.2.1"), "", 0},
	} {
		got := conflict(zoneName, all, record{fields: c.in})
		if got == nil {
			if c.want != "" {
				t.Errorf("%s %s: no conflict, want %s", c.in.name, c.in.kind, c.want)
			}
			continue
		}
		var with int64
		if got.with != nil {
			with = got.with.id
		}
		if got.reason != c.want || with != c.with {
			t.Errorf("%s %s: %s with %d, want %s with %d", c.in.name, c.in.kind, got.reason, with, c.want, c.with)
		}
		if !i18n.Has("uz", "invalid.dns_"+got.reason) {
			t.Errorf("%s has no text", got.reason)
		}
	}
}

func TestTheSerialAlwaysGrows(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for last, want := range map[uint32]uint32{
		0: 1_800_000_000, 1_700_000_000: 1_800_000_000, 1_800_000_000: 1_800_000_001, 1_900_000_000: 1_900_000_001,
	} {
		if got := nextSerial(last, now); got != want || !nameserver.Newer(got, last) {
			t.Errorf("after %d comes %d, want %d", last, got, want)
		}
	}
}

// FuzzRecord holds that every record that is accepted can be served, and stays as it
// is when it is read back from a zone file.
func FuzzRecord(f *testing.F) {
	f.Add("TXT", "@", `a "b" \ c`, 0, "")
	f.Add("CAA", "a", "letsencrypt.org; x=y", 128, "issue")
	f.Add("SRV", "_a._b", "host", 1, "")
	f.Add("CNAME", "*", "a.b", 0, "")
	server := nameserver.New(nameserver.Config{Now: time.Now})
	f.Fuzz(func(t *testing.T, kind, name, value string, n int, tag string) {
		in := fields{kind: Type(kind), name: name, value: value, ttl: 300}
		form := forms[in.kind]
		if form.priority {
			in.priority = &n
		}
		if form.service {
			in.weight, in.port = &n, &n
		}
		if form.property {
			in.flags, in.tag = &n, &tag
		}
		got, err := in.parse(zoneName)
		if err != nil {
			return
		}
		again := got
		if got.kind != ALIAS {
			r := nameserver.Record{Name: absolute(zoneName, got.name), Type: string(got.kind), TTL: 300, Data: got.data()}
			if err := server.Set(nameserver.Zone{Name: zoneName, Records: []nameserver.Record{r}}); err != nil {
				t.Fatalf("%q is accepted and cannot be served: %v", got.data(), err)
			}
			if !forms[got.kind].read(&again, got.data()) {
				t.Fatalf("%q cannot be read back", got.data())
			}
		}
		again.name = absolute(zoneName, got.name) + "."
		if again, err = again.parse(zoneName); err != nil || !again.same(got) {
			t.Fatalf("%s %q is %s %q when it is read back: %v", got.name, got.data(), again.name, again.data(), err)
		}
	})
}

// An import compares each of its records with each of the zone, a million times.
func TestRecordsAreComparedWithoutWritingThemOut(t *testing.T) {
	long := fields{name: "a", kind: TXT, value: strings.Repeat("ж", maxText/2)}
	other := long
	other.value = "x" + long.value[2:]
	if n := testing.AllocsPerRun(100, func() {
		if long.same(other) || !long.same(long) {
			t.Error("compared wrongly")
		}
	}); n > 0 {
		t.Errorf("a comparison allocates %v times", n)
	}
	ten, twenty := 10, 20
	mx := fields{name: "a", kind: MX, value: "b.example", priority: &ten}
	dearer := mx
	dearer.priority = &twenty
	again, tenToo := mx, 10
	again.priority = &tenToo
	if mx.same(dearer) || !mx.same(again) {
		t.Error("priorities are compared wrongly")
	}
}

// Every name that can be hosted can be served, and written as a file.
func TestAZoneOfTheLongestNameIsServed(t *testing.T) {
	nameservers := []string{"ns1.stead.uz"}
	for _, length := range []int{11, 242, 243, 249, 250, 253} {
		name := (strings.Repeat(strings.Repeat("a", 49)+".", 5) + "com")[253-length:]
		z := zone{name: name, serial: 7}
		all := settle(z, nil, nameservers, "192.0.2.1", "").add
		if _, err := nameserver.ParseFile(bind(z, all, nameservers), name, defaultTTL, 10); err != nil {
			t.Errorf("%d characters: %v", length, err)
		}
		s := nameserver.New(nameserver.Config{Now: time.Now})
		if err := s.Set(served(z, all, nameservers)); err != nil {
			t.Errorf("%d characters: %v", length, err)
		}
		if c := served(z, nil, nameservers).Contact; len(c) > 253 || !strings.HasPrefix(c, "hostmaster.") {
			t.Errorf("of %d characters: %s", len(c), c)
		}
	}
}
