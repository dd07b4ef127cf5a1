package webui

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// form is a visitor's input with its mistakes. A page that shows it again keeps the input, except passwords and codes.
type form struct {
	values url.Values
	errors map[string][]string
	// Problem is a mistake of the form as a whole.
	Problem string
}

// readForm reads a POST. A body that is not a form, or is too large, counts as empty: the page then reports the missing
// fields.
func readForm(r *http.Request) *form {
	if err := r.ParseForm(); err != nil {
		return &form{values: url.Values{}}
	}
	return &form{values: r.PostForm}
}

// emptyForm is a form before the first submission, with the given values.
func emptyForm(pairs ...string) *form {
	f := &form{values: url.Values{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		f.values.Set(pairs[i], pairs[i+1])
	}
	return f
}

// Get returns a value without surrounding blanks.
func (f *form) Get(name string) string {
	return strings.TrimSpace(strings.ToValidUTF8(f.values.Get(name), ""))
}

// secret returns a value as it was typed; a password may begin with a blank.
func (f *form) secret(name string) string { return f.values.Get(name) }

// refused records the mistakes that err reports, and says whether err is about the form; other errors have pages of
// their own.
func (f *form) refused(r *http.Request, err error) (status int, ok bool) {
	e := fault.From(err)
	lang := i18n.Lang(r.Context())
	switch e.Def.Kind {
	case fault.KindUnprocessable, fault.KindUnauthenticated, fault.KindTooMany, fault.KindForbidden, fault.KindConflict:
	default:
		return 0, false
	}
	f.errors = invalidTexts(lang, e)
	if len(f.errors) == 0 || e.Def != fault.Validation {
		f.Problem = i18n.T(lang, e.TextID(), e.Fields)
	}
	if e.Def.Kind == fault.KindUnauthenticated {
		return http.StatusUnprocessableEntity, true // 401 is for HTTP's own authentication
	}
	return e.Def.Kind.Status(), true
}

// invalidTexts are the mistakes of each input.
func invalidTexts(lang string, e *fault.Error) map[string][]string {
	all := map[string][]string{}
	for name, texts := range e.Invalid {
		for _, t := range texts {
			text := t.Plain
			if t.ID != "" {
				text = i18n.T(lang, t.ID, t.Data)
			}
			all[name] = append(all[name], text)
		}
	}
	return all
}

// field is one input of a form, for the template "field".
type field struct {
	Name, Type, Label, Value, Hint, Autocomplete, Inputmode string
	MinLength, MaxLength                                    int
	Required, Focus                                         bool
	Errors                                                  []string
}

// Field describes an input: its kind selects the type and what browsers may fill in. The label is the text
// webui.field.<name>, or that of the given id.
func (v view) Field(f *form, name, kind string, opts ...string) (field, error) {
	d, ok := fieldKinds[kind]
	if !ok {
		return d, fmt.Errorf("no kind of field %q", kind)
	}
	d.Name, d.Label = name, i18n.T(v.Lang, "webui.field."+name, nil)
	for _, opt := range opts {
		key, value, _ := strings.Cut(opt, "=")
		switch key {
		case "label":
			d.Label = i18n.T(v.Lang, value, nil)
		case "hint":
			d.Hint = i18n.T(v.Lang, value, nil)
		case "focus":
			d.Focus = true
		case "optional":
			d.Required = false
		default:
			return d, fmt.Errorf("no option of field %q", key)
		}
	}
	if f == nil {
		return d, nil
	}
	d.Errors = f.errors[name]
	if d.Type != "password" && d.Autocomplete != "one-time-code" {
		d.Value = f.Get(name)
	}
	return d, nil
}

var fieldKinds = map[string]field{
	"text":         {Type: "text", Required: true, MaxLength: 255},
	"name":         {Type: "text", Autocomplete: "name", Required: true, MaxLength: 100},
	"email":        {Type: "email", Autocomplete: "username", Required: true, MaxLength: 254},
	"password":     {Type: "password", Autocomplete: "current-password", Required: true},
	"new-password": {Type: "password", Autocomplete: "new-password", Required: true},
	"code":         {Type: "text", Autocomplete: "one-time-code", Required: true, MaxLength: 40},
}

// choice is one select of a form, for the template "choice".
type choice struct {
	Name, Label, Value string
	Options            []option
	Errors             []string
}

type option struct{ Value, Label string }

// Choice describes a select.
func (v view) Choice(f *form, name string, options []option) choice {
	return choice{
		Name: name, Label: i18n.T(v.Lang, "webui.field."+name, nil), Value: f.Get(name), Options: options, Errors: f.errors[name],
	}
}
