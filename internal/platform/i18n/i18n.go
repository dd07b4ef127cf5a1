// Package i18n holds every text that a customer reads, in Uzbek, Russian and English.
//
// The texts are in locales/<section>.<lang>.toml, message files of go-i18n; code names a text by its id
// ("error.not_found") and never contains prose. A section adds its own three files; a test checks that the three have
// the same ids, placeholders and plural forms, and that no id is in two sections.
package i18n

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/BurntSushi/toml"
	goi18n "github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
)

// The supported languages. English is the fallback: its texts are the ones written first.
const (
	English = "en"
	Russian = "ru"
	Uzbek   = "uz"

	Fallback = English
)

// Supported lists the languages that every text exists in.
func Supported() []string {
	return []string{Uzbek, Russian, English}
}

//go:embed locales/*.toml
var locales embed.FS

// catalogue is the parsed form of the embedded files.
type catalogue struct {
	// Each localizer knows exactly one supported tag. So go-i18n's own matching, which sends uz-Cyrl to Russian, never
	// chooses.
	localizers map[string]*goi18n.Localizer
	ids        map[string]map[string]bool   // language → id
	texts      map[string]map[string]string // language → id → text with its placeholders; of plurals the general form
}

// load parses the catalogues at their first use, not at the start of every command. They are part of the binary, so
// tests catch a broken one before users do.
var load = sync.OnceValue(func() *catalogue {
	c, err := parse(locales)
	if err != nil {
		panic(fmt.Sprintf("i18n: embedded catalogues: %v", err))
	}
	return c
})

func parse(files fs.FS) (*catalogue, error) {
	bundle := goi18n.NewBundle(language.Make(Fallback))
	bundle.RegisterUnmarshalFunc("toml", toml.Unmarshal)
	c := &catalogue{localizers: map[string]*goi18n.Localizer{}, ids: map[string]map[string]bool{}, texts: map[string]map[string]string{}}

	paths, err := fs.Glob(files, "locales/*.toml")
	if err != nil {
		return nil, err
	}
	for _, lang := range Supported() {
		c.ids[lang], c.texts[lang] = map[string]bool{}, map[string]string{}
	}
	for _, path := range paths {
		// go-i18n reads the language from the part of the name before .toml.
		file, err := bundle.LoadMessageFileFS(files, path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		ids, supported := c.ids[file.Tag.String()]
		if !supported {
			return nil, fmt.Errorf("%s: name must end in .<lang>.toml with a language of %v", path, Supported())
		}
		for _, message := range file.Messages {
			ids[message.ID] = true
			c.texts[file.Tag.String()][message.ID] = message.Other
		}
	}
	for _, lang := range Supported() {
		c.localizers[lang] = goi18n.NewLocalizer(bundle, lang)
	}
	return c, nil
}

// T returns the text of an id in a language, with data filled into its {{.Placeholders}}. A member Count of data
// chooses the plural form. An unsupported language reads as the fallback; an unknown id is returned as it is, so a
// missing text is visible and never empty.
func T(lang, id string, data map[string]any) string {
	if !slices.Contains(Supported(), lang) {
		lang = Fallback
	}
	config := &goi18n.LocalizeConfig{MessageID: id, PluralCount: data["Count"]}
	if data != nil {
		config.TemplateData = data
	}
	text, err := load().localizers[lang].Localize(config)
	if err != nil && text == "" {
		return id
	}
	return text
}

// Raw returns the text of an id as the catalogue has it, with its placeholders; of plurals the general form.
func Raw(lang, id string) string { return load().texts[lang][id] }

var placeholderForm = regexp.MustCompile(`\{\{\s*\.([A-Za-z]+)\s*\}\}`)

// Placeholders lists the names in a text's {{.Placeholders}}, each once, in order.
func Placeholders(text string) []string {
	names := []string{}
	for _, m := range placeholderForm.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return names
}

// Fill puts data into the {{.Placeholders}} of a text, in one pass; those without data are left out.
func Fill(text string, data map[string]any) string {
	return placeholderForm.ReplaceAllStringFunc(text, func(found string) string {
		if value, ok := data[placeholderForm.FindStringSubmatch(found)[1]]; ok {
			return fmt.Sprint(value)
		}
		return ""
	})
}

// Has reports whether an id has a text of its own in a language.
func Has(lang, id string) bool {
	return load().ids[lang][id]
}

// IDs lists the ids of all texts in order.
func IDs() []string { return slices.Sorted(maps.Keys(load().ids[Fallback])) }

// Lookup returns the supported language of a single tag ("ru", "ru-RU", "uz-Cyrl", "uz_UZ"), and whether there is one.
// The language alone decides, never the script: a request for Uzbek in Cyrillic gets Uzbek.
func Lookup(tag string) (string, bool) {
	parsed, err := language.Parse(tag)
	if err != nil {
		return "", false
	}
	return supported(parsed)
}

// Match returns the best supported language for an Accept-Language header or a tag, and the fallback when it names
// none.
func Match(header string) string {
	if lang, ok := Accepted(header); ok {
		return lang
	}
	return Fallback
}

// Accepted returns the best supported language that an Accept-Language header names, and whether there is one: many
// programs send "*". Tags count in the order of their quality.
func Accepted(header string) (string, bool) {
	tags, qualities, err := language.ParseAcceptLanguage(header)
	if err != nil {
		return "", false
	}
	for i, tag := range tags {
		if qualities[i] == 0 {
			continue // q=0 means "not this one"
		}
		if lang, ok := supported(tag); ok {
			return lang, true
		}
	}
	return "", false
}

func supported(tag language.Tag) (string, bool) {
	base, confidence := tag.Base()
	if confidence == language.No {
		return "", false
	}
	lang := base.String()
	return lang, slices.Contains(Supported(), lang)
}

type contextKey struct{}

// choice is the language choice of a context.
type choice struct {
	lang     string
	resolved bool
}

// WithLang sets the language of the texts in answers to this context's caller. A tag that means no supported
// language means the fallback.
func WithLang(ctx context.Context, lang string) context.Context {
	return context.WithValue(ctx, contextKey{}, choice{lang: Match(lang)})
}

// WithResolvedLang is WithLang for a caller who asked with ?lang=: translatable fields (Text) resolve to the one
// string in that language instead of an object keyed by language.
func WithResolvedLang(ctx context.Context, lang string) context.Context {
	return context.WithValue(ctx, contextKey{}, choice{lang: Match(lang), resolved: true})
}

// Lang returns the language of the context, or the fallback.
func Lang(ctx context.Context) string {
	if c, ok := ctx.Value(contextKey{}).(choice); ok {
		return c.lang
	}
	return Fallback
}
