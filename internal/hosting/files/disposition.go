package files

import (
	"strings"
	"unicode"
)

// contentDisposition names an attachment: plain for every client, and in UTF-8 (RFC 6266, RFC 8187)
// when the plain form cannot say the name.
func contentDisposition(name string) string {
	var plain, extended strings.Builder
	exact := true
	for _, r := range name {
		if r < ' ' || r > '~' || r == '"' || r == '\\' || r == '%' {
			exact = false
			r = '_'
		}
		plain.WriteRune(r)
	}
	header := `attachment; filename="` + plain.String() + `"`
	if exact {
		return header
	}
	const hex = "0123456789ABCDEF"
	for i := range len(name) {
		if c := name[i]; attrChar(c) {
			extended.WriteByte(c)
		} else {
			extended.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return header + "; filename*=UTF-8''" + extended.String()
}

// attrChar are the characters that RFC 8187 leaves as they are.
func attrChar(c byte) bool {
	return c < unicode.MaxASCII && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)) || strings.IndexByte("!#$&+-.^_`|~", c) >= 0)
}
