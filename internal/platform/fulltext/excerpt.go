package fulltext

import (
	"strings"
	"unicode/utf8"
)

// Part is a piece of a text; Match says that a search has found it there.
type Part struct {
	Text  string
	Match bool
}

// matches reports whether a word of a text is one that was sought.
func (r Result) matches(w word) bool {
	s := stem(r.lang, w.folded)
	for _, t := range r.terms {
		for i, sought := range t.stems {
			if s == sought || prefixed(sought) && strings.HasPrefix(s, sought) ||
				prefixed(t.words[i]) && strings.HasPrefix(w.folded, t.words[i]) {
				return true
			}
		}
	}
	return false
}

// Mark divides a text into what the search has found and what is between.
func (r Result) Mark(text string) []Part {
	var parts []Part
	at := 0
	for _, w := range split(text) {
		if !r.matches(w) {
			continue
		}
		if w.start > at {
			parts = append(parts, Part{Text: text[at:w.start]})
		}
		parts, at = append(parts, Part{text[w.start:w.end], true}), w.end
	}
	if at < len(text) {
		parts = append(parts, Part{Text: text[at:]})
	}
	return parts
}

// Excerpt is about so many letters of a text, where it has most of what was sought. found says whether it has any.
func (r Result) Excerpt(text string, letters int) (parts []Part, found bool) {
	words := split(text)
	var hits []word
	for _, w := range words {
		if r.matches(w) {
			hits = append(hits, w)
		}
	}
	from, best := 0, 0
	for i, h := range hits {
		n := 0
		for _, other := range hits[i:] {
			if utf8.RuneCountInString(text[h.start:other.end]) > letters {
				break
			}
			n++
		}
		if n > best {
			from, best = h.start, n
		}
	}
	start := before(text, words, from, letters/5)
	end := after(text, words, start, letters)
	cut := strings.TrimSpace(text[start:end])
	if start > 0 {
		cut = "… " + cut
	}
	if end < len(text) {
		cut += " …"
	}
	return r.Mark(cut), best > 0
}

// before goes back from a place by at most so many letters, to the beginning of a word.
func before(text string, words []word, from, letters int) int {
	start := from
	for i := len(words) - 1; i >= 0; i-- {
		if words[i].start >= from {
			continue
		}
		if utf8.RuneCountInString(text[words[i].start:from]) > letters {
			break
		}
		start = words[i].start
		if i == 0 {
			start = 0
		}
	}
	return start
}

// after goes on from a place by at most so many letters, to the end of a word.
func after(text string, words []word, from, letters int) int {
	if utf8.RuneCountInString(text[from:]) <= letters {
		return len(text)
	}
	end := from
	for _, w := range words {
		if w.start < from {
			continue
		}
		if utf8.RuneCountInString(text[from:w.end]) > letters {
			break
		}
		end = w.end
	}
	return end
}
