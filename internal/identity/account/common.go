package account

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// commonCompressed is what scripts/common-passwords makes: 100,000 common passwords and words, in lower case, sorted.
//
//go:embed passwords.txt.gz
var commonCompressed []byte

// common returns the list, which is unpacked when it is needed first.
var common = sync.OnceValue(func() []string {
	r, err := gzip.NewReader(bytes.NewReader(commonCompressed))
	if err != nil {
		panic("account: the list of common passwords: " + err.Error()) // it is part of the program
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic("account: the list of common passwords: " + err.Error())
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
})

// mostDecoration is how many digits and signs beside a common word make it no better.
const mostDecoration = 4

// isCommon reports whether a password in lower case is a common one, also with a few digits and signs before or behind, such
// as basketball2024!.
func isCommon(lower string) bool {
	for _, candidate := range []string{lower, strings.TrimRightFunc(lower, decoration), strings.TrimLeftFunc(lower, decoration), strings.TrimFunc(lower, decoration)} {
		if utf8.RuneCountInString(lower)-utf8.RuneCountInString(candidate) > mostDecoration {
			continue
		}
		if _, found := slices.BinarySearch(common(), candidate); found {
			return true
		}
	}
	return false
}

// decoration are the signs that people add to a word to satisfy a rule.
func decoration(r rune) bool { return !unicode.IsLetter(r) }
