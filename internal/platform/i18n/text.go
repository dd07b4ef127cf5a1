package i18n

import (
	"context"
	"encoding/json"
	"unicode"

	"github.com/danielgtaylor/huma/v2"
)

// Text is a translatable field that an operator writes, such as the name of a plan: language → text. Sections store
// it as a JSON object and answer with its Wire form.
type Text map[string]string

// In returns the text in a language, else in the fallback, else in whichever supported language has one.
func (t Text) In(lang string) string {
	if text := t[lang]; text != "" {
		return text
	}
	if text := t[Fallback]; text != "" {
		return text
	}
	for _, other := range Supported() {
		if text := t[other]; text != "" {
			return text
		}
	}
	return ""
}

// Wire returns the form that goes into an answer to the caller of ctx.
func (t Text) Wire(ctx context.Context) Translated {
	c, _ := ctx.Value(contextKey{}).(choice)
	if c.resolved {
		return Translated{text: t, lang: c.lang}
	}
	return Translated{text: t}
}

// Translated encodes as the specification says of translatable fields: an object keyed by language, or one string
// when the caller asked with ?lang=. Build it with Text.Wire.
type Translated struct {
	text Text
	lang string // empty: the whole object
}

// MarshalJSON implements json.Marshaler.
func (t Translated) MarshalJSON() ([]byte, error) {
	if t.lang != "" {
		return json.Marshal(t.text.In(t.lang))
	}
	if t.text == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]string(t.text))
}

// Schema implements huma.SchemaProvider, so that the OpenAPI document shows both forms.
func (Translated) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "Translated text: an object keyed by language, or one string with ?lang=uz|ru|en",
		Examples:    []any{map[string]any{"uz": "Sayt uchun xosting", "ru": "Хостинг для сайта", "en": "Hosting for a site"}},
		OneOf: []*huma.Schema{
			{Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeString}},
			{Type: huma.TypeString},
		},
	}
}

// Unprintable reports whether a letter is none that is seen: a control character, a line break too, or one that could turn or hide
// the text around it (Unicode's categories Cc and Cf).
func Unprintable(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
