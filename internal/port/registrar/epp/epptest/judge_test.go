package epptest

import (
	"strings"
	"testing"
)

func TestWrongFramesAreFound(t *testing.T) {
	good := `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><command><check><check xmlns="urn:ietf:params:xml:ns:domain-1.0">` +
		`<name>shop.example</name></check></check><clTRID>stead-1.AB</clTRID></command></epp>`
	for what, frame := range map[string]string{
		"an element that is none": strings.ReplaceAll(good, "name>", "nome>"),
		"another order":           strings.Replace(good, "<command>", "<command><clTRID>stead-2.AB</clTRID>", 1),
		"an id that is too short": strings.Replace(good, "stead-1.AB", "st", 1),
		"no object":               strings.Replace(good, "<name>shop.example</name>", "", 1),
		"no XML":                  good[:40],
	} {
		if err := Judge(t, [][]byte{[]byte(good), []byte(frame)}); err == nil {
			t.Errorf("%s passes", what)
		} else if !strings.Contains(err.Error(), "00001.xml") || strings.Contains(err.Error(), "00000.xml") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := Judge(t, [][]byte{[]byte(good)}); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"st", "stead-" + strings.Repeat("1", 60)} { // of a kind that was judged, but for its id
		if err := Judge(t, [][]byte{[]byte(strings.Replace(good, "stead-1.AB", id, 1))}); err == nil {
			t.Errorf("the id %s passes", id)
		}
	}
}
