package mail

import "testing"

func TestPlacesOfMaildirEntries(t *testing.T) {
	for entry, want := range map[string][3]string{
		"cur/1.M1P1.host,S=5,W=6:2,RS": {".", "cur", "1.M1P1.host,S=5,W=6:2,RS"}, "./new/1.M1P1.host": {".", "new", "1.M1P1.host"},
		".Sent/cur/1.a:2,": {".Sent", "cur", "1.a:2,"}, ".Archive.2020/dovecot-uidlist": {".Archive.2020", "", "dovecot-uidlist"}, "subscriptions": {".", "", "subscriptions"},
		".&BB8EQAQ4-/new/1.b": {".&BB8EQAQ4-", "new", "1.b"},
		"tmp/1.a":             {}, "../cur/1.a": {}, ".../cur/1.a": {}, "cur/../../x": {}, "cur/.hidden": {}, "cur/a/b": {}, ".Sent/../cur/1.a": {}, "/cur/1.a": {}, ".a/b/cur/1.a": {},
		"dovecot.index": {}, "sieve": {}, ".dovecot.sieve": {}, "cur/1.a\n": {}, "cur/": {}, ".x\x00/cur/1.a": {}, "maildirsize": {},
	} {
		folder, dir, name, ok := placeOf(entry)
		if got := [3]string{folder, dir, name}; got != want || ok != (want != [3]string{}) {
			t.Errorf("%q is %q, %v", entry, got, ok)
		}
	}
}
