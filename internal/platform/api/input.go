package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"stead.dev/stead/internal/platform/fault"
)

// input is how an operation's In is filled from a request.
type input struct {
	params []param
	body   *huma.Schema // nil when In has no Body
	index  []int        // of Body
}

// param is one field of In that comes from the path, the query or a header.
type param struct {
	in, name string // in: path, query, header
	index    []int
	schema   *huma.Schema
	required bool
	fallback string
	doc      string
}

// newInput plans the decoding of t, a struct. Embedded structs count as if
// their fields stood in it.
func newInput(reg huma.Registry, t reflect.Type) (*input, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the input %v is not a struct", t)
	}
	in := &input{}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		if f.Name == "Body" {
			name := strings.TrimSuffix(schemaName(t, ""), "In") + "Body" // of a struct without a name of its own
			in.body, in.index = reg.Schema(f.Type, true, name), f.Index
			closeObjects(reg, in.body)
			continue
		}
		p := param{index: f.Index, fallback: f.Tag.Get("default"), doc: f.Tag.Get("doc")}
		for _, where := range []string{"path", "query", "header"} {
			if name := f.Tag.Get(where); name != "" {
				p.in, p.name = where, name
			}
		}
		if p.in == "" {
			return nil, fmt.Errorf("the field %v.%s is neither a parameter nor Body", t, f.Name)
		}
		p.required = p.in == "path" || f.Tag.Get("required") == "true"
		p.schema = huma.SchemaFromField(reg, f, f.Name)
		p.schema.Nullable = false // an argument is present or absent, never null
		in.params = append(in.params, p)
	}
	return in, nil
}

// idempotencyKey is the header that makes a request repeatable.
const idempotencyKey = "Idempotency-Key"

// invalid gathers what is wrong with a request.
type invalid map[string][]fault.Text

func (v invalid) add(field string, t fault.Text) { v[field] = append(v[field], t) }

func (v invalid) err() error {
	if len(v) == 0 {
		return nil
	}
	return &fault.Error{Def: fault.Validation, Invalid: v}
}

// decode fills a new In from the request.
func (e *Edge) decode(d *declared, r *http.Request, body []byte) (any, error) {
	v := reflect.New(d.in)
	bad := invalid{}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault.InvalidRequest.Wrap(err)
	}
	for _, p := range d.input.params {
		var text string
		given := false
		switch p.in {
		case "path":
			text, given = r.PathValue(p.name), true
		case "query":
			text, given = query.Get(p.name), query.Has(p.name)
		case "header":
			text = r.Header.Get(p.name)
			given = text != ""
		}
		if !given || (text == "" && p.schema.Type != huma.TypeString) {
			if p.required {
				bad.add(p.name, fault.Text{ID: "invalid.required"})
				continue
			}
			if text = p.fallback; text == "" {
				continue
			}
		}
		if d.Money && p.name == idempotencyKey {
			v.Elem().FieldByIndex(p.index).SetString(text) // runCommit validates it, for all operations alike
			continue
		}
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			if p.in == "path" {
				return nil, fault.NotFound.New()
			}
			bad.add(p.name, fault.Text{ID: "invalid.characters"})
			continue
		}
		if err := e.set(v.Elem().FieldByIndex(p.index), p, text, bad); err != nil {
			return nil, err
		}
	}
	d.unknownParams(e.registry, query, bad)
	d.unknownCondition(r, bad)
	if d.refuseBody() {
		d.unknownBody(body, bad)
	}
	if d.input.body != nil {
		if err := e.decodeBody(d, v.Elem().FieldByIndex(d.input.index), body, bad); err != nil {
			return nil, err
		}
	}
	return v.Interface(), bad.err()
}

// set parses text into the field and validates it. A path parameter that does not parse names nothing: 404. Each object
// has one address: /5, not /05.
func (e *Edge) set(field reflect.Value, p param, text string, bad invalid) error {
	target := field
	if field.Kind() == reflect.Pointer {
		target = reflect.New(field.Type().Elem()).Elem()
	}
	value, ok := parse(target, text)
	if p.in == "path" && ok && fmt.Sprint(target.Interface()) != text {
		ok = false
	}
	if !ok {
		if p.in == "path" {
			return fault.NotFound.New()
		}
		bad.add(p.name, fault.Text{ID: "invalid.expected_" + p.schema.Type})
		return nil
	}
	res := &huma.ValidateResult{}
	huma.Validate(e.registry, p.schema, huma.NewPathBuffer([]byte{}, 0), huma.ModeWriteToServer, value, res)
	for _, err := range res.Errors {
		if p.in == "path" {
			return fault.NotFound.New()
		}
		_, t := violation(err)
		bad.add(p.name, t)
	}
	if field.Kind() == reflect.Pointer {
		field.Set(target.Addr())
	}
	return nil
}

// parse sets a scalar or a comma-separated list and returns it in the form that the schema validator expects.
func parse(v reflect.Value, text string) (any, bool) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return text, true
	case reflect.Int, reflect.Int64, reflect.Int32:
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
		return float64(n), err == nil
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		v.SetBool(b)
		return b, err == nil
	case reflect.Slice:
		var items []any
		for _, part := range strings.Split(text, ",") {
			item := reflect.New(v.Type().Elem()).Elem()
			value, ok := parse(item, strings.TrimSpace(part))
			if !ok {
				return nil, false
			}
			v.Set(reflect.Append(v, item))
			items = append(items, value)
		}
		return items, true
	default:
		return nil, false
	}
}

// readBody reads a JSON body of at most limit bytes.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	if ct := r.Header.Get("Content-Type"); ct != "" {
		mt, _, err := mime.ParseMediaType(ct)
		if err != nil || (mt != "application/json" && !strings.HasSuffix(mt, "+json")) {
			return nil, fault.UnsupportedMediaType.With(fault.Fields{"expected": "application/json"})
		}
	}
	return readAll(r, limit)
}

// readAll reads a body of any type of at most limit bytes.
func readAll(r *http.Request, limit int64) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, fault.PayloadTooLarge.With(fault.Fields{"limit_bytes": limit})
	case err != nil:
		return nil, fault.InvalidRequest.Wrap(err)
	}
	return b, nil
}

func (e *Edge) decodeBody(d *declared, field reflect.Value, body []byte, bad invalid) error {
	if len(strings.TrimSpace(string(body))) == 0 {
		body = []byte("{}")
	}
	if !utf8.Valid(body) || hasLoneSurrogate(body) {
		return fault.MalformedJSON.Wrapf("the body is not UTF-8")
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fault.MalformedJSON.Wrap(err)
	}
	if !d.allowNUL && hasNUL(value) {
		bad.add("body", fault.Text{ID: "invalid.characters"})
		return nil
	}
	if name, ok := duplicateMember(json.NewDecoder(bytes.NewReader(body))); ok {
		bad.add(name, fault.Text{ID: "invalid.repeated"})
		return nil
	}
	res := &huma.ValidateResult{}
	huma.Validate(e.registry, d.input.body, huma.NewPathBuffer([]byte{}, 0), huma.ModeWriteToServer, value, res)
	for _, err := range res.Errors {
		if name, t := violation(err); t.ID != "invalid.unexpected" {
			bad.add(name, t)
		}
	}
	unknownMembers(e.registry, d.input.body, value, "", bad)
	if len(res.Errors) > 0 {
		return nil
	}
	// A value that the schema accepts may still not fit the Go type: an integer of 30 digits, an impossible date.
	if err := json.Unmarshal(body, field.Addr().Interface()); err != nil {
		var typeErr *json.UnmarshalTypeError
		switch {
		case !errors.As(err, &typeErr) || typeErr.Field == "":
			bad.add("body", fault.Text{ID: "invalid.value"})
		case strings.ContainsAny(strings.TrimPrefix(typeErr.Value, "number "), ".eE"):
			bad.add(typeErr.Field, fault.Text{ID: "invalid.expected_integer"})
		default:
			bad.add(typeErr.Field, fault.Text{ID: "invalid.out_of_range"})
		}
	}
	return nil
}

// duplicateMember finds a duplicate member in an object of the next value. Readers of JSON differ in which of the two they
// take, so the validator and the decoder could see different values. Letter case is ignored, because the decoder
// ignores it, also where members of any name are allowed. The JSON is known to be valid.
func duplicateMember(dec *json.Decoder) (name string, ok bool) {
	opening, _ := dec.Token()
	object := opening == json.Delim('{')
	if !object && opening != json.Delim('[') {
		return "", false
	}
	names := map[string]bool{}
	for dec.More() {
		if object {
			t, _ := dec.Token()
			name, _ = t.(string)
			f := foldCase(name)
			if names[f] {
				return name, true
			}
			names[f] = true
		}
		if name, ok = duplicateMember(dec); ok {
			return name, true
		}
	}
	_, _ = dec.Token() // the closing bracket
	return "", false
}

// foldCase makes strings equal that strings.EqualFold considers equal.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		for {
			next := unicode.SimpleFold(r)
			if next <= r {
				return next
			}
			r = next
		}
	}, s)
}

// hasLoneSurrogate finds \ud800 without its other half. The decoder silently replaces it by U+FFFD, and a file would
// get content that nobody has sent.
func hasLoneSurrogate(body []byte) bool {
	for {
		at := bytes.IndexByte(body, '\\')
		if at < 0 || at+1 == len(body) {
			return false
		}
		body = body[at+1:]
		first := codeUnit(body)
		body = body[1:] // skip the escaped character, which may be a backslash
		if !utf16.IsSurrogate(first) {
			continue
		}
		body = body[4:]
		if len(body) == 0 || body[0] != '\\' || utf16.DecodeRune(first, codeUnit(body[1:])) == utf8.RuneError {
			return true
		}
		body = body[6:]
	}
}

// codeUnit reads what follows the backslash of \u0061; it returns -1 for anything else.
func codeUnit(escaped []byte) rune {
	if len(escaped) < 5 || escaped[0] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(escaped[1:5]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

func hasNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		for _, x := range v {
			if hasNUL(x) {
				return true
			}
		}
	case map[string]any:
		for k, x := range v {
			if strings.ContainsRune(k, 0) || hasNUL(x) {
				return true
			}
		}
	}
	return false
}

// mark parts the pieces of a validation message: the id of a text in the
// catalogue and its argument.
const mark = "\x1f"

// init makes the validator return ids of the catalogue instead of text, so that clients read errors in their language.
func init() { //nolint:gochecknoinits // huma's messages are package variables
	// A list is never null: null would pass the checks of its length.
	huma.DefaultArrayNullable = false
	// The decoder ignores the case of names, so a name in another case must not pass.
	huma.ValidateStrictCasing = true
	for message, id := range map[*string]string{
		&validation.MsgUnexpectedProperty:                 "unexpected",
		&validation.MsgExpectedRFC3339DateTime:            "expected_date_time",
		&validation.MsgExpectedRFC3339Date:                "expected_date",
		&validation.MsgExpectedRFC3339Time:                "expected_time",
		&validation.MsgExpectedRFC5890Hostname:            "expected_hostname",
		&validation.MsgExpectedRFC2673IPv4:                "expected_ip",
		&validation.MsgExpectedRFC2373IPv6:                "expected_ip",
		&validation.MsgExpectedRFCIPAddr:                  "expected_ip",
		&validation.MsgExpectedBoolean:                    "expected_boolean",
		&validation.MsgExpectedNumber:                     "expected_number",
		&validation.MsgExpectedInteger:                    "expected_integer",
		&validation.MsgExpectedString:                     "expected_string",
		&validation.MsgExpectedArray:                      "expected_array",
		&validation.MsgExpectedObject:                     "expected_object",
		&validation.MsgExpectedBase64String:               "expected_base64",
		&validation.MsgExpectedArrayItemsUnique:           "unique",
		&validation.MsgExpectedMatchAtLeastOneSchema:      "value",
		&validation.MsgExpectedMatchExactlyOneSchema:      "value",
		&validation.MsgExpectedNotMatchSchema:             "value",
		&validation.MsgExpectedPropertyNameInObject:       "value",
		&validation.MsgExpectedRFC6570URITemplate:         "expected_uri",
		&validation.MsgExpectedRFC6901JSONPointer:         "value",
		&validation.MsgExpectedRFC6901RelativeJSONPointer: "value",
		&validation.MsgExpectedRFC1123DateTime:            "expected_date_time",
	} {
		*message = id
	}
	for message, id := range map[*string]string{
		&validation.MsgExpectedRFC5322Email:              "expected_email" + mark + "%v",
		&validation.MsgExpectedRFC3986URI:                "expected_uri" + mark + "%v",
		&validation.MsgExpectedRFC4122UUID:               "value" + mark + "%v",
		&validation.MsgExpectedRegexp:                    "value" + mark + "%v",
		&validation.MsgExpectedDuration:                  "value" + mark + "%v",
		&validation.MsgExpectedOneOf:                     "one_of" + mark + "%s",
		&validation.MsgExpectedConst:                     "one_of" + mark + "%v",
		&validation.MsgExpectedMinimumNumber:             "minimum" + mark + "%v",
		&validation.MsgExpectedExclusiveMinimumNumber:    "above" + mark + "%v",
		&validation.MsgExpectedMaximumNumber:             "maximum" + mark + "%v",
		&validation.MsgExpectedExclusiveMaximumNumber:    "below" + mark + "%v",
		&validation.MsgExpectedNumberBeMultipleOf:        "multiple_of" + mark + "%v",
		&validation.MsgExpectedMinLength:                 "min_length" + mark + "%d",
		&validation.MsgExpectedMaxLength:                 "max_length" + mark + "%d",
		&validation.MsgExpectedBePattern:                 "pattern" + mark + "%s",
		&validation.MsgExpectedMatchPattern:              "pattern" + mark + "%s",
		&validation.MsgExpectedMinItems:                  "min_items" + mark + "%d",
		&validation.MsgExpectedMaxItems:                  "max_items" + mark + "%d",
		&validation.MsgExpectedMinProperties:             "min_items" + mark + "%d",
		&validation.MsgExpectedMaxProperties:             "max_items" + mark + "%d",
		&validation.MsgExpectedRequiredProperty:          "required" + mark + "%s",
		&validation.MsgExpectedDependentRequiredProperty: "required" + mark + "%[1]s",
	} {
		*message = id
	}
}

// violation reads one of the validator's errors: the member, and its text.
func violation(err error) (field string, t fault.Text) {
	var detail *huma.ErrorDetail
	if !errors.As(err, &detail) {
		return "body", fault.Text{ID: "invalid.value"}
	}
	id, arg, _ := strings.Cut(detail.Message, mark)
	field = detail.Location
	if id == "required" {
		field = strings.TrimPrefix(field+"."+arg, ".")
	}
	if field == "" {
		field = "body"
	}
	if n, err := strconv.ParseFloat(arg, 64); err == nil {
		arg = strconv.FormatFloat(n, 'f', -1, 64) // a million, where the validator wrote 1e+06
	}
	return field, fault.Text{ID: "invalid." + id, Data: map[string]any{"Value": arg}}
}
