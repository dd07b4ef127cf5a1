package mailer

import (
	"slices"

	"stead.dev/stead/internal/platform/i18n"
)

// samples fill placeholders where a mail is shown without a customer.
var samples = map[string]any{
	"Addresses": "203.0.113.7, 2001:db8::7", "Amount": "$12.50", "Code": "48151623", "Count": 3, "Days": "7", "Domain": "anna.example", "Email": "anna@example.com", "Host": "anna.example", "Minutes": "60", "Name": "anna.example",
	"Number": 1042, "Order": "ST-1042", "Reason": "", "Service": "anna.example", "Since": "2026-03-02 09:00 UTC", "Subject": "anna.example",
	"Threshold": "$20.00", "Time": "2026-03-02 09:00 UTC", "Title": "anna.example", "Total": "$36.00", "Until": "2026-03-09", "From": "2026-03-08 22:00 UTC",
}

// sampleTexts are the samples that people write, as ids of texts.
var sampleTexts = map[string]string{"Text": "letters.sample", "Body": "letters.sample", "Stage": "status.stage.investigating"}

// pageNames are the placeholders that stand for the letter's page.
var pageNames = []string{"Link", "Page"}

// Placeholders lists what the shipped texts of a kind tell, and the company's name.
func (k Kind) Placeholders() []string {
	return i18n.Placeholders(i18n.Raw(i18n.Fallback, k.Subject) + i18n.Raw(i18n.Fallback, k.Text) + "{{.Company}}")
}

// Sample is a letter of the kind as a customer might get it.
func (w *Writer) Sample(k Kind, lang string) Letter {
	b := w.Brand()
	l := Letter{Kind: k, ID: "sample", Lang: lang, Page: w.BaseURL + "/panel/", Words: map[string]any{}}
	if k.ID == "channel.code" || k.ID == "account.closed" {
		l.Page = "" // of those without one
	}
	for _, name := range k.Placeholders() {
		l.Words[name] = samples[name]
		if slices.Contains(pageNames, name) {
			l.Words[name] = l.Page
		}
		if id := sampleTexts[name]; id != "" {
			l.Words[name] = i18n.T(lang, id, nil)
		}
	}
	delete(l.Words, "Company")
	frame := map[string]any{"Name": "Anna", "Company": b.Name, "Support": b.Support, "Link": l.Page}
	if k.Greeting != "" {
		l.Greeting = i18n.T(lang, k.Greeting, frame)
	}
	for _, id := range k.Footer {
		if b.Support == "" && slices.Contains(i18n.Placeholders(i18n.Raw(lang, id)), "Support") {
			continue
		}
		l.Footer = append(l.Footer, i18n.T(lang, id, frame))
	}
	l.Links = []string{l.Page}
	return l
}
