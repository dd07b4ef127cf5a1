package i18n

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/BurntSushi/toml"
	goi18n "github.com/nicksnyder/go-i18n/v2/i18n"
)

// section is the parsed catalogue of one section: language → id → message.
type section map[string]map[string]*goi18n.Message

// sections parses every file anew, to compare the languages with each other.
func sections(t *testing.T) map[string]section {
	t.Helper()
	paths, err := fs.Glob(locales, "locales/*.toml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no catalogues: %v", err)
	}
	all := map[string]section{}
	for _, file := range paths {
		name, lang, ok := strings.Cut(strings.TrimSuffix(path.Base(file), ".toml"), ".")
		if !ok || !slices.Contains(Supported(), lang) {
			t.Errorf("%s must be named <section>.<lang>.toml", file)
			continue
		}
		content, err := fs.ReadFile(locales, file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := goi18n.ParseMessageFileBytes(content, file, map[string]goi18n.UnmarshalFunc{"toml": toml.Unmarshal})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		messages := map[string]*goi18n.Message{}
		for _, message := range parsed.Messages {
			messages[message.ID] = message
		}
		if all[name] == nil {
			all[name] = section{}
		}
		all[name][lang] = messages
	}
	return all
}

// forms returns the plural forms that a language needs, in the order of CLDR.
func forms(lang string, m *goi18n.Message) map[string]string {
	all := map[string]string{"zero": m.Zero, "one": m.One, "two": m.Two, "few": m.Few, "many": m.Many, "other": m.Other}
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all
}

var neededForms = map[string][]string{
	English: {"one", "other"},
	Uzbek:   {"one", "other"},
	Russian: {"few", "many", "one", "other"},
}

var placeholder = regexp.MustCompile(`{{.*?}}`)

func placeholders(text string) []string {
	found := placeholder.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

func TestEverySectionHasTheSameTextsInEveryLanguage(t *testing.T) {
	for name, languages := range sections(t) {
		for _, lang := range Supported() {
			if languages[lang] == nil {
				t.Errorf("%s.%s.toml is missing", name, lang)
			}
		}
		ids := map[string]bool{}
		for _, messages := range languages {
			for id := range messages {
				ids[id] = true
			}
		}
		for _, id := range slices.Sorted(maps.Keys(ids)) {
			for _, lang := range Supported() {
				if problem := check(languages, lang, id); problem != "" {
					t.Errorf("%s.%s.toml: %s %s", name, lang, id, problem)
				}
			}
		}
	}
}

// check compares one text with its English original.
func check(languages section, lang, id string) string {
	message, original := languages[lang][id], languages[English][id]
	if message == nil {
		return "is missing"
	}
	if strings.TrimSpace(message.Other) == "" {
		return "has no text"
	}
	if original == nil {
		return "" // reported for English
	}
	if got, want := placeholders(message.Other), placeholders(original.Other); !slices.Equal(got, want) {
		return fmt.Sprintf("has the placeholders %v, English has %v", got, want)
	}
	if len(forms(English, original)) > 1 {
		have := slices.Sorted(maps.Keys(forms(lang, message)))
		if !slices.Equal(have, neededForms[lang]) {
			return fmt.Sprintf("has the plural forms %v, needs %v", have, neededForms[lang])
		}
	}
	return ""
}

func TestNoTextIsInTwoSections(t *testing.T) {
	owner := map[string]string{}
	for name, languages := range sections(t) {
		for id := range languages[English] {
			if other, taken := owner[id]; taken {
				t.Errorf("%s is in %s and in %s", id, other, name)
			}
			owner[id] = name
		}
	}
}

// named is an id of a text in code and templates; begun is the beginning of one at the end of a string, such as "error." before
// a key.
var (
	named = regexp.MustCompile(`[a-z0-9_]+(?:\.[a-z0-9_]+)+`)
	begun = regexp.MustCompile("([a-z0-9_]+(?:\\.[a-z0-9_]+)*[._])[\"`%]")
)

// A text that nothing names is left over from what was removed: it is named whole, or its beginning is, to the dot or underscore.
func TestEachTextIsNamedSomewhere(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, root := range []string{"../../../internal", "../../../cmd"} {
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if ext := filepath.Ext(name); err != nil || entry.IsDir() || ext != ".go" && ext != ".html" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := os.ReadFile(name)
			for _, n := range named.FindAll(text, -1) {
				names[string(n)] = true
			}
			for _, n := range begun.FindAllSubmatch(text, -1) {
				names[string(n[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range IDs() {
		ok := names[id]
		for at, r := range id {
			ok = ok || (r == '.' || r == '_') && names[id[:at+1]]
		}
		if !ok {
			t.Errorf("nothing names %s", id)
		}
	}
}

func TestUzbekIsInLatinScript(t *testing.T) {
	cyrillic := regexp.MustCompile(`\p{Cyrillic}`)
	for name, languages := range sections(t) {
		for id, message := range languages[Uzbek] {
			if cyrillic.MatchString(message.Other) {
				t.Errorf("%s: %s is in Cyrillic: %q", name, id, message.Other)
			}
		}
	}
}

// TestUzbekHasItsOwnApostrophes: U+02BB in oʻ and gʻ, U+02BC as the sign of a glottal stop. Quotation marks around words stay.
func TestUzbekHasItsOwnApostrophes(t *testing.T) {
	other := regexp.MustCompile("[oOgG]['‘’`´]|\\p{L}['‘’`´]\\p{L}|[^oOgG]ʻ|[oOgG]ʼ[^\\p{L}]")
	for name, languages := range sections(t) {
		for id, message := range languages[Uzbek] {
			if found := other.FindString(message.Other); found != "" {
				t.Errorf("%s: %s has %q: %q", name, id, found, message.Other)
			}
		}
	}
}

func TestATextIsSaidInTheLanguageAsked(t *testing.T) {
	for lang, want := range map[string]string{
		English: "This section is switched off.",
		Russian: "Этот раздел отключён.",
		Uzbek:   "Bu bo\u02bblim o\u02bbchirib qo\u02bbyilgan.",
		"":      "This section is switched off.",
		"fr":    "This section is switched off.",
	} {
		if got := T(lang, "error.section_disabled", nil); got != want {
			t.Errorf("in %q it says %q, want %q", lang, got, want)
		}
	}
	if got := T(Uzbek, "error.no_such_text", nil); got != "error.no_such_text" {
		t.Errorf("a missing text must show its id, got %q", got)
	}
	if !Has(Uzbek, "error.not_found") || Has(Uzbek, "error.no_such_text") || Has("fr", "error.not_found") {
		t.Error("Has does not tell which texts exist")
	}
}

func TestDataAndPluralsFollowTheLanguage(t *testing.T) {
	c, err := parse(fstest.MapFS{
		"locales/x.en.toml": {Data: []byte(`[days]
one = "{{.Count}} day left, {{.Name}}"
other = "{{.Count}} days left, {{.Name}}"`)},
		"locales/x.ru.toml": {Data: []byte(`[days]
one = "{{.Name}}, остался {{.Count}} день"
few = "{{.Name}}, осталось {{.Count}} дня"
many = "{{.Name}}, осталось {{.Count}} дней"
other = "{{.Name}}, осталось {{.Count}} дня"`)},
		"locales/x.uz.toml": {Data: []byte(`[days]
one = "{{.Name}}, {{.Count}} kun qoldi"
other = "{{.Name}}, {{.Count}} kun qoldi"`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		lang  string
		count int
		want  string
	}{
		{English, 1, "1 day left, Aziz"},
		{English, 5, "5 days left, Aziz"},
		{Russian, 21, "Aziz, остался 21 день"},
		{Russian, 3, "Aziz, осталось 3 дня"},
		{Russian, 11, "Aziz, осталось 11 дней"},
		{Uzbek, 3, "Aziz, 3 kun qoldi"},
	} {
		got, err := c.localizers[test.lang].Localize(&goi18n.LocalizeConfig{
			MessageID: "days", PluralCount: test.count, TemplateData: map[string]any{"Count": test.count, "Name": "Aziz"},
		})
		if err != nil || got != test.want {
			t.Errorf("%s %d: %q, %v, want %q", test.lang, test.count, got, err, test.want)
		}
	}
}

func TestAMisnamedOrBrokenCatalogueIsRefused(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"unsupported language": {"locales/x.de.toml": {Data: []byte(`a = "b"`)}},
		"no language":          {"locales/x.toml": {Data: []byte(`a = "b"`)}},
		"not TOML":             {"locales/x.en.toml": {Data: []byte(`a = `)}},
	} {
		if _, err := parse(files); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestTheLanguageIsChosenByLanguageNotByScript(t *testing.T) {
	for header, want := range map[string]string{
		"uz":                              Uzbek,
		"uz-Cyrl":                         Uzbek,
		"uz-Cyrl-UZ":                      Uzbek,
		"uz_UZ":                           Uzbek,
		"ru-RU,ru;q=0.9,en;q=0.8":         Russian,
		"en;q=0.1, uz;q=0.7":              Uzbek,
		"fr-FR, ru;q=0.5":                 Russian,
		"ru;q=0, uz;q=0.2":                Uzbek,
		"fr":                              Fallback,
		"":                                Fallback,
		"*":                               Fallback,
		"\xff;;q=":                        Fallback,
		strings.Repeat("xx-", 1000) + "x": Fallback,
	} {
		if got := Match(header); got != want {
			t.Errorf("%q means %q, want %q", header, got, want)
		}
	}
	for tag, want := range map[string]string{"uz": Uzbek, "RU": Russian, "en-GB": English, "uz-Cyrl": Uzbek, "de": "", "": "", "??": ""} {
		got, ok := Lookup(tag)
		if ok != (want != "") || (ok && got != want) {
			t.Errorf("Lookup(%q) = %q, %v, want %q", tag, got, ok, want)
		}
	}
}

func TestTheContextCarriesTheLanguage(t *testing.T) {
	ctx := context.Background()
	if got := Lang(ctx); got != Fallback {
		t.Errorf("an empty context speaks %q", got)
	}
	if got := Lang(WithLang(ctx, "uz-Cyrl")); got != Uzbek {
		t.Errorf("uz-Cyrl became %q", got)
	}
	if got := Lang(WithLang(WithLang(ctx, Russian), "nonsense")); got != Fallback {
		t.Errorf("nonsense became %q", got)
	}
}

func TestATranslatableFieldIsAnObjectOrOneString(t *testing.T) {
	name := Text{English: "Start", Russian: "Старт"}
	ctx := context.Background()
	for _, test := range []struct {
		what string
		ctx  context.Context
		text Text
		want string
	}{
		{"no choice", ctx, name, `{"en":"Start","ru":"Старт"}`},
		{"a profile's language", WithLang(ctx, Russian), name, `{"en":"Start","ru":"Старт"}`},
		{"?lang=ru", WithResolvedLang(ctx, Russian), name, `"Старт"`},
		{"?lang=uz without a translation", WithResolvedLang(ctx, Uzbek), name, `"Start"`},
		{"only another language", WithResolvedLang(ctx, Russian), Text{Uzbek: "Boshlang\u02bbich"}, "\"Boshlang\u02bbich\""},
		{"nothing", ctx, nil, `{}`},
		{"nothing with ?lang=", WithResolvedLang(ctx, Russian), nil, `""`},
	} {
		got, err := json.Marshal(test.text.Wire(test.ctx))
		if err != nil || !bytes.Equal(got, []byte(test.want)) {
			t.Errorf("%s: %s, %v, want %s", test.what, got, err, test.want)
		}
	}
	if schema := (Translated{}).Schema(nil); len(schema.OneOf) != 2 {
		t.Error("the document must show both forms")
	}
}
