package assistant

import (
	"strings"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/i18n"
)

// draft is a support ticket that nobody has opened yet.
type draft struct{ subject, text string }

// Bounds of a support ticket (package tickets), with room for what its asker adds.
const (
	mostSubject = 120
	mostTicket  = 15_000
)

// draftOf makes a ticket of the messages of a conversation, the oldest first: the last question, and then the whole conversation. Where it is too
// long, its oldest messages are left out.
func draftOf(lang string, all []message) draft {
	var question string
	for _, m := range all {
		if m.role == roleUser {
			question = m.content
		}
	}
	head := question + "\n\n" + i18n.T(lang, "assistant.handover.conversation", nil) + "\n"
	var lines []string
	size := utf8.RuneCountInString(head)
	for i := len(all) - 1; i >= 0; i-- {
		key := "assistant.handover.you"
		if all[i].role == roleAssistant {
			key = "assistant.handover.assistant"
		}
		line := "\n" + i18n.T(lang, key, nil) + ": " + all[i].content + "\n"
		if size += utf8.RuneCountInString(line); size > mostTicket {
			break
		}
		lines = append(lines, line)
	}
	var text strings.Builder
	text.WriteString(head)
	for i := len(lines) - 1; i >= 0; i-- {
		text.WriteString(lines[i])
	}
	return draft{subject: shorten(strings.Join(strings.Fields(question), " "), mostSubject), text: strings.TrimSpace(text.String())}
}

// shorten cuts a text after so many letters, at a word where one ends.
func shorten(text string, most int) string {
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	cut := string(letters[:most-1])
	if i := strings.LastIndex(cut, " "); i > len(cut)/2 {
		cut = cut[:i]
	}
	return cut + "…"
}
