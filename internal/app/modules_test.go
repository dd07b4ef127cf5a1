package app

import (
	"path"
	"reflect"
	"slices"
	"testing"
)

func TestEverySectionIsAmongTheModules(t *testing.T) {
	a := start(t, nil)
	var listed []string
	for _, m := range a.modules {
		if slices.Contains(listed, m.Name) {
			t.Errorf("%s is listed twice", m.Name)
		}
		listed = append(listed, m.Name)
	}
	for field := range reflect.TypeFor[sections]().Fields() {
		if _, ok := field.Type.MethodByName("Module"); !ok {
			continue
		}
		if section := path.Base(field.Type.Elem().PkgPath()); !slices.Contains(listed, section) {
			t.Errorf("%s is built and not listed", section)
		}
	}
}

func TestModulesHearOfEventsInOrder(t *testing.T) {
	a := start(t, nil)
	var order []string
	for _, m := range a.modules {
		if len(m.Subscriptions) > 0 {
			order = append(order, m.Name)
		}
	}
	want := []string{"nodes", "services", "claims", "sitedomains", "dns", "certificates", "notifications", "mail", "webhooks", "runs", "invoices", "loyalty", "monitors", "scans", "sla", "insights"}
	if !slices.Equal(order, want) {
		t.Errorf("events are told to %q, want %q", order, want)
	}
}
