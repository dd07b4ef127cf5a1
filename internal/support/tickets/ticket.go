package tickets

import (
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/fault"
)

// Status says who must do something.
type Status string

// The states of a ticket.
const (
	Open     Status = "open"
	Waiting  Status = "waiting"
	Answered Status = "answered"
	Closed   Status = "closed"
)

// Ticket is a question of a customer.
type Ticket struct {
	ID, AccountID        int64
	ServiceID            *int64
	Subject              string
	Status               Status
	AssigneeID           *int64
	Language             string
	token                string
	CreatedAt, UpdatedAt time.Time
	ClosedAt             *time.Time
}

// Message is what somebody wrote in a ticket.
type Message struct {
	ID, TicketID, AuthorID int64
	Staff, Internal        bool
	Via                    string
	Body                   string
	Files                  []File
	CreatedAt              time.Time
	mailID                 string
}

// File is an attachment.
type File struct {
	ID      int64
	Name    string
	Size    int64
	Content []byte
}

// Bounds of what somebody writes.
const (
	maxSubject = 150
	maxBody    = 20_000
	maxFiles   = 5
	// MaxFiles bounds the files of a message together, in bytes.
	MaxFiles = 3 << 20
)

// normal returns the message in its stored form.
func (m Message) normal() (Message, error) {
	m.Body = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(m.Body, "\uFFFD"), "\x00", ""))
	if m.Body == "" {
		return m, fault.Invalid("message", "required")
	}
	if utf8.RuneCountInString(m.Body) > maxBody {
		return m, fault.InvalidData("message", "max_length", map[string]any{"Value": maxBody})
	}
	if len(m.Files) > maxFiles {
		return m, fault.LimitReached.With(fault.Fields{"limit": "attachments", "maximum": maxFiles})
	}
	var size int64
	for i, f := range m.Files {
		m.Files[i].Name, m.Files[i].Size = fileName(f.Name), int64(len(f.Content))
		size += int64(len(f.Content))
	}
	if size > MaxFiles {
		return m, fault.PayloadTooLarge.With(fault.Fields{"limit_bytes": MaxFiles})
	}
	return m, nil
}

// subject returns a subject in its stored form: one line.
func subject(text string) (string, error) {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
	switch {
	case text == "":
		return "", fault.Invalid("subject", "required")
	case utf8.RuneCountInString(text) > maxSubject:
		return "", fault.InvalidData("subject", "max_length", map[string]any{"Value": maxSubject})
	}
	return text, nil
}

// fileName is the last part of a name, without characters that have a meaning in headers or paths.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune(`"/;:*?<>|`, r) {
			return '_'
		}
		return r
	}, name)
	for len(name) > 100 {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if strings.Trim(name, ". ") == "" {
		return "file"
	}
	return name
}
