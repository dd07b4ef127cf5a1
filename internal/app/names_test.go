package app

import (
	"slices"
	"testing"

	"stead.dev/stead/internal/platform/config"
)

// TestTheOperatorsNamesAreNobodyElses: a customer's site, zone or mailbox under one of them would be found in the
// place of what is the operator's.
func TestTheOperatorsNamesAreNobodyElses(t *testing.T) {
	got := ownNames(config.Config{
		BaseURL: "https://Panel.example.com", NodeURL: "http://127.0.0.1:8081", PreviewDomain: "Preview.example.com",
		MailHost: "mx1.example.com", Nameservers: []string{"ns1.example.com.", "ns2.example.com"},
	})
	want := []string{"panel.example.com", "127.0.0.1", "preview.example.com", "mx1.example.com", "ns1.example.com", "ns2.example.com"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := ownNames(config.Config{}); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}
