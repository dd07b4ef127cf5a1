package articles

import (
	"encoding/hex"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// sortKey is a title in a form that both databases order as the language's alphabet does.
func sortKey(lang, title string) string {
	var buf collate.Buffer
	return hex.EncodeToString(collate.New(language.Make(lang), collate.IgnoreCase).KeyFromString(&buf, title))
}
