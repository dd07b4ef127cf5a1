package mailer

import (
	"strings"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/i18n"
)

// Kind is a kind of mail: its texts in the catalogue.
type Kind struct {
	// ID names it, such as account.recovery.
	ID string
	// Subject and Text are ids of texts. Without a subject, the first line of the text is one.
	Subject, Text string
	// Button is the id of the text of the button that leads to the letter's page; empty for a general one.
	Button string
	// Greeting and Footer are ids of texts around the text, as previews show them; the sections fill them.
	Greeting string
	Footer   []string
}

// Letter is a mail to a person before it is written.
type Letter struct {
	Kind         Kind
	ID, To, Lang string
	// Words fill the placeholders of subject and text. Company is added.
	Words map[string]any
	// Page is the absolute address of the page where the thing is done; empty without one.
	Page string
	// Greeting is a paragraph before the text, After are paragraphs behind it, and Footer are those of the sender.
	Greeting      string
	After, Footer []string
	// Links are further absolute addresses in these texts. Nothing else becomes a link: what a customer enters is text.
	Links []string
	// Unsubscribe and ReplyTo are those of the message.
	Unsubscribe, ReplyTo string
}

// Writer writes letters in the brand: a plain text, and the same as HTML.
type Writer struct {
	Brand brand.Source
	// BaseURL is the address of the site, where the logo is.
	BaseURL string
	// Changed returns what staff have written instead of the shipped text of a kind; nil: nothing.
	Changed func(kind, lang string) (Text, bool)
}

// Text is the text of a kind of mail in a language, with placeholders in it.
type Text struct{ Subject, Text string }

// Shipped is the text of a kind as the program brings it.
func (k Kind) Shipped(lang string) Text {
	return Text{i18n.Raw(lang, k.Subject), i18n.Raw(lang, k.Text)}
}

// WriteDraft writes a letter with a text that is not live.
func (w *Writer) WriteDraft(l Letter, draft Text) Message {
	subject, text := w.fill(l, draft)
	return w.form(l, subject, text)
}

// Write writes a letter.
func (w *Writer) Write(l Letter) Message {
	subject, text := w.texts(l)
	return w.form(l, subject, text)
}

// texts are the subject and the text of a letter, with their placeholders filled.
func (w *Writer) texts(l Letter) (subject, text string) {
	if w.Changed != nil {
		if changed, ok := w.Changed(l.Kind.ID, l.Lang); ok {
			return w.fill(l, changed)
		}
	}
	words := w.words(l)
	text = i18n.T(l.Lang, l.Kind.Text, words)
	if l.Kind.Subject == "" {
		subject, _, _ = strings.Cut(text, "\n")
	} else {
		subject = i18n.T(l.Lang, l.Kind.Subject, words)
	}
	return subject, l.withPage(text)
}

func (w *Writer) words(l Letter) map[string]any {
	words := map[string]any{"Company": w.Brand().Name}
	for name, value := range l.Words {
		words[name] = value
	}
	return words
}

// fill puts the words of a letter into a text that staff have written. What is put in is not read again.
func (w *Writer) fill(l Letter, t Text) (subject, text string) {
	words := w.words(l)
	text = i18n.Fill(t.Text, words)
	if l.Kind.Subject == "" {
		subject, _, _ = strings.Cut(text, "\n")
	} else {
		subject = i18n.Fill(t.Subject, words)
	}
	return subject, l.withPage(text)
}

// withPage ends a text with the address of the letter's page, unless it has it.
func (l Letter) withPage(text string) string {
	text = strings.TrimRight(text, " \n")
	if l.Page != "" && !strings.Contains(text+strings.Join(l.After, "\n"), l.Page) {
		text += "\n\n" + l.Page
	}
	return text
}

// form puts a subject and a text into the form of a mail.
func (w *Writer) form(l Letter, subject, text string) Message {
	var parts []string
	if l.Greeting != "" {
		parts = append(parts, l.Greeting)
	}
	parts = append(append(append(parts, text), l.After...), l.Footer...)
	// A name that a customer chose is never more than a part of a line.
	subject = strings.Join(strings.Fields(subject), " ")
	return Message{
		ID: l.ID, To: l.To, Subject: subject, Text: strings.Join(parts, "\n\n") + "\n", HTML: w.html(l, subject, text),
		Sender: w.Brand().Sender, Unsubscribe: l.Unsubscribe, ReplyTo: l.ReplyTo,
	}
}
