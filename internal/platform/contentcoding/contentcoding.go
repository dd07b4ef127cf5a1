// Package contentcoding tells in which codings clients of HTTP take content.
package contentcoding

import (
	"strconv"
	"strings"
)

// AcceptsGzip reads the headers Accept-Encoding (RFC 9110, section 12.5.3): gzip, x-gzip or * with a weight above zero; an
// entry for gzip itself takes precedence over the star.
func AcceptsGzip(headers []string) bool {
	accepted := false
	for _, header := range headers {
		for item := range strings.SplitSeq(header, ",") {
			coding, params, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				return weight(params) > 0
			case "*":
				accepted = weight(params) > 0
			}
		}
	}
	return accepted
}

func weight(params string) float64 {
	key, value, ok := strings.Cut(params, "=")
	if !ok || strings.ToLower(strings.TrimSpace(key)) != "q" {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return 0
	}
	return q
}
