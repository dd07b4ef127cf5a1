package contentcoding_test

import (
	"testing"

	"stead.dev/stead/internal/platform/contentcoding"
)

func TestAcceptEncodingIsReadAsSpecified(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "x-gzip": true, "br": false, "*": true, "*;q=0": false,
		"gzip;q=0": false, "gzip; q=0.0": false, "gzip ; q=0.1": true, "*, gzip;q=0": false, "gzip;q=x": false, "gzipped": false,
	} {
		if got := contentcoding.AcceptsGzip([]string{header}); got != want {
			t.Errorf("AcceptsGzip(%q) = %v", header, got)
		}
	}
}
