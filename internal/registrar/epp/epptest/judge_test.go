package epptest

import (
	"strings"
	"testing"
)

func TestWrongFramesAreFound(t *testing.T) {
	good := `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><command><check><check xmlns="urn:ietf:params:xml:ns:domain-1.0">` +
		`<name>shop.example</name></check></check><clTRID>abc-1</clTRID></command></epp>`
	for what, frame := range map[string]string{
		"an element that is none": strings.ReplaceAll(good, "name>", "nome>"),
		"another order":           strings.Replace(good, "<command>", "<command><clTRID>abc-2</clTRID>", 1),
		"an id that is too short": strings.Replace(good, "abc-1", "a", 1),
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
}
