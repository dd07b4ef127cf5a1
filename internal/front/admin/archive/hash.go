package archive

import (
	"regexp"
	"strconv"
	"strings"
)

var hashForms = map[string]*regexp.Regexp{
	"BLF-CRYPT":    regexp.MustCompile(`^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$`),
	"SHA512-CRYPT": regexp.MustCompile(`^\$6\$(?:rounds=(\d{1,9})\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{86}$`),
	"ARGON2ID":     regexp.MustCompile(`^\$argon2id\$v=19\$m=(\d{1,9}),t=(\d{1,9}),p=(\d{1,9})\$[A-Za-z0-9+/]{8,90}\$[A-Za-z0-9+/]{20,120}$`),
}

// hashMost bounds what a sign-in may cost: the numbers of a hash come with the archive, and a mail server would work for minutes.
var hashMost = map[string][]int{"BLF-CRYPT": {14}, "SHA512-CRYPT": {500_000}, "ARGON2ID": {256 << 10, 8, 8}}

// PasswordHash brings a hash into the form of panel.Mailbox; empty when mail servers here cannot or must not take it.
func PasswordHash(text string) string {
	scheme, hash := "", text
	if rest, ok := strings.CutPrefix(text, "{"); ok {
		scheme, hash, _ = strings.Cut(rest, "}")
	}
	switch scheme = strings.ToUpper(scheme); {
	case scheme != "" && scheme != "CRYPT":
	case strings.HasPrefix(hash, "$2"):
		scheme = "BLF-CRYPT"
	case strings.HasPrefix(hash, "$6$"):
		scheme = "SHA512-CRYPT"
	case strings.HasPrefix(hash, "$argon2id$"):
		scheme = "ARGON2ID"
	}
	form := hashForms[scheme]
	if form == nil {
		return ""
	}
	found := form.FindStringSubmatch(hash)
	if found == nil {
		return ""
	}
	for i, text := range found[1:] {
		if n, err := strconv.Atoi(text); text != "" && (err != nil || n > hashMost[scheme][i]) {
			return ""
		}
	}
	return "{" + scheme + "}" + hash
}
