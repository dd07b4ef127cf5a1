package exports

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/module"
)

const (
	// partSize is how much of a file is one row.
	partSize = 1 << 20
	// maxArchive bounds a file, and maxRaw what attachments may take of it before they are compressed.
	maxArchive = 512 << 20
	maxRaw     = 256 << 20
	// perPage is the largest page that operations answer.
	perPage = 50
)

var (
	errTooLarge = errors.New("exports: the archive is too large")
	// errOvertaken says that another attempt makes the archive, or that nobody wants it any more.
	errOvertaken = errors.New("exports: the attempt was overtaken")
)

// make makes a pending archive and tells its owner. In the last attempt a file that cannot be had is left out.
func (s *Service) make(ctx context.Context, id int64, by auth.Caller, last bool) error {
	files := s.Source.Files()
	var (
		a     Archive
		owner Owner
		ok    bool
	)
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if a, ok, err = begin(ctx, tx, id, len(files)); err != nil || !ok {
			return err
		}
		owner, err = s.Owners.Owner(ctx, tx, a.AccountID)
		return err
	})
	if err != nil || !ok {
		return err
	}
	if !owner.Open {
		return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return fail(ctx, tx, id) })
	}
	parts := &partWriter{ctx: ctx, service: s, archive: a}
	w := &writer{
		service: s, zip: zip.NewWriter(parts), archive: a, lang: owner.Locale, files: files, wanted: map[string][]string{}, rows: map[rowsOf][]row{}, last: last,
	}
	for _, f := range files {
		if !slices.Contains(w.wanted[f.Of], f.Rows) {
			w.wanted[f.Of] = append(w.wanted[f.Of], f.Rows)
		}
	}
	err = w.write(i18n.WithLang(ctx, owner.Locale), owner)
	if err == nil {
		err = parts.Close()
	}
	if err == nil {
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			if found, err := current(ctx, tx, a); err != nil || !found {
				return errors.Join(err, errOvertaken)
			}
			if err := finish(ctx, tx, a, parts.size, tx.Now.Add(keep)); err != nil {
				return err
			}
			return s.Owners.Ready(ctx, tx, a.AccountID, by)
		})
	}
	if errors.Is(err, errOvertaken) {
		return nil
	}
	return err
}

// partWriter seals what is written and keeps it in rows.
type partWriter struct {
	ctx     context.Context
	service *Service
	archive Archive
	number  int64
	size    int64
	buffer  bytes.Buffer
}

func (w *partWriter) Write(b []byte) (int, error) {
	w.size += int64(len(b))
	if w.size > maxArchive {
		return 0, errTooLarge
	}
	w.buffer.Write(b)
	for w.buffer.Len() >= partSize {
		if err := w.flush(w.buffer.Next(partSize)); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (w *partWriter) Close() error {
	if w.buffer.Len() == 0 {
		return nil
	}
	return w.flush(w.buffer.Next(w.buffer.Len()))
}

func (w *partWriter) flush(content []byte) error {
	sealed, err := w.service.Box.Seal(content, sealedAt(w.archive, w.number))
	if err != nil {
		return err
	}
	err = w.service.DB.InTx(w.ctx, func(ctx context.Context, tx *db.Tx) error {
		if found, err := current(ctx, tx, w.archive); err != nil || !found {
			return errors.Join(err, errOvertaken)
		}
		return insertPart(ctx, tx, w.archive.ID, w.number, sealed)
	})
	w.number++
	return err
}

// row is what another file is made for.
type row struct {
	arguments map[string]any // those of the file that it is in, by the names of parameters
	id        any
	name      string
}

// rowsOf names the rows at a place in the answers of a file.
type rowsOf struct{ file, at string }

// writer writes the files of an archive.
type writer struct {
	service *Service
	zip     *zip.Writer
	archive Archive
	lang    string
	files   []module.Export
	wanted  map[string][]string // where in the answers of a file other files find their rows
	rows    map[rowsOf][]row
	raw     int64    // bytes of attachments
	written []string // texts of README.txt on what there is
	missing []string // and on what could not be had
	last    bool     // no attempt follows
}

func (w *writer) write(ctx context.Context, owner Owner) error {
	for i, f := range w.files {
		n, err := w.file(ctx, f)
		if err != nil {
			return fmt.Errorf("exports: %s of account %d: %w", f.File, w.archive.AccountID, err)
		}
		if n > 0 {
			w.written = append(w.written, pattern(f)+"\n    "+w.text(f.Text, nil))
		}
		err = w.service.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			if found, err := progress(ctx, tx, w.archive, i+1); err != nil || !found {
				return errors.Join(err, errOvertaken)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := w.readme(owner); err != nil {
		return err
	}
	return w.zip.Close()
}

// file writes what f stands for, and returns how many files that were.
func (w *writer) file(ctx context.Context, f module.Export) (n int, err error) {
	if f.Of == "" {
		return w.one(ctx, f, map[string]any{}, "")
	}
	parameter := ownParameter(f)
	for _, r := range w.rows[rowsOf{f.Of, f.Rows}] {
		arguments := map[string]any{parameter: r.id}
		for name, value := range r.arguments {
			arguments[name] = value
		}
		done, err := w.one(ctx, f, arguments, r.name)
		if err != nil {
			return n, err
		}
		n += done
	}
	return n, nil
}

// one writes a file; 0 when the operation has nothing to answer.
func (w *writer) one(ctx context.Context, f module.Export, arguments map[string]any, name string) (int, error) {
	err := w.answer(ctx, f, arguments, name)
	var refusal *fault.Error
	switch {
	case err == nil:
		return 1, nil
	case errors.Is(err, fault.NotFound), errors.Is(err, fault.Forbidden): // there is none, or its section is off
		return 0, nil
	case errors.As(err, &refusal) && refusal.Def.Kind != fault.KindInternal && refusal.Def.Kind != fault.KindUnavailable:
		w.missing = append(w.missing, filled(f.File, arguments)+": "+w.text(refusal.TextID(), refusal.Fields))
		return 0, nil
	case w.last && ctx.Err() == nil && !errors.Is(err, errOvertaken) && !errors.Is(err, errTooLarge):
		w.service.Log.ErrorContext(ctx, "left out of the archive of an account's data", "account", w.archive.AccountID, "file", f.File, "error", err)
		w.missing = append(w.missing, filled(f.File, arguments)+": "+w.text("error.internal_error", nil))
		return 0, nil
	default:
		return 0, err
	}
}

// answer writes what an operation answers.
func (w *writer) answer(ctx context.Context, f module.Export, arguments map[string]any, name string) error {
	if f.Raw {
		return w.attachment(ctx, f, arguments, name)
	}
	asked := map[string]any{"per_page": perPage}
	for name, value := range arguments {
		asked[name] = value
	}
	var out *entry
	for page := 1; ; page++ {
		asked["page"] = page // operations without pages are not given it
		body, err := w.service.Source.Read(ctx, w.archive.AccountID, f, asked)
		if err != nil {
			return err
		}
		found, err := parse(body)
		if err != nil {
			return err
		}
		if out == nil {
			if out, err = w.create(filled(f.File, arguments)+".json", found.list); err != nil {
				return err
			}
		}
		for _, one := range found.rows {
			w.remember(f, arguments, one)
			if err := out.add(withoutSecrets(one, f.Omit)); err != nil {
				return err
			}
		}
		if !found.list || page >= found.last {
			return out.end()
		}
	}
}

// attachment writes a file as it is.
func (w *writer) attachment(ctx context.Context, f module.Export, arguments map[string]any, name string) error {
	if w.raw >= maxRaw {
		w.missing = append(w.missing, filled(f.File, arguments)+": "+w.text("exports.too_large", nil))
		return nil
	}
	content, err := w.service.Source.Read(ctx, w.archive.AccountID, f, arguments)
	if err != nil {
		return err
	}
	w.raw += int64(len(content))
	to, err := w.zip.CreateHeader(&zip.FileHeader{
		Name: filled(f.File, arguments) + "-" + path.Base("/"+name), Method: zip.Deflate, Modified: w.archive.RequestedAt,
	})
	if err == nil {
		_, err = to.Write(content)
	}
	return err
}

// remember keeps what other files need of a row.
func (w *writer) remember(f module.Export, arguments map[string]any, one any) {
	for _, at := range w.wanted[f.File] {
		for _, found := range below(one, at) {
			if member, ok := found.(map[string]any); ok && member["id"] != nil {
				name, _ := member["name"].(string)
				w.rows[rowsOf{f.File, at}] = append(w.rows[rowsOf{f.File, at}], row{arguments: arguments, id: member["id"], name: name})
			}
		}
	}
}

// below finds the values to which a path such as "messages.attachments" leads. Arrays on the way are entered.
func below(value any, at string) []any {
	if list, ok := value.([]any); ok {
		var all []any
		for _, one := range list {
			all = append(all, below(one, at)...)
		}
		return all
	}
	if at == "" {
		return []any{value}
	}
	name, rest, _ := strings.Cut(at, ".")
	object, _ := value.(map[string]any)
	if object[name] == nil {
		return nil
	}
	return below(object[name], rest)
}

// found is what an operation has answered: the rows of a page of a list, or one object.
type found struct {
	list bool
	rows []any
	last int // page
}

func parse(body json.RawMessage) (f found, err error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // ids stay what they are
	var whole any
	if err := decoder.Decode(&whole); err != nil {
		return f, err
	}
	object, _ := whole.(map[string]any)
	meta, isList := object["meta"].(map[string]any)
	data, hasData := object["data"].([]any)
	if !isList || !hasData {
		return found{rows: []any{whole}}, nil
	}
	last, _ := meta["last_page"].(json.Number)
	n, _ := last.Int64() // 0 in a list that has no pages
	return found{list: true, rows: data, last: int(n)}, nil
}

// secretMember finds members whose names say that they are secrets. What is only called so, such as the public key of a
// pair, is none.
var secretMember = regexp.MustCompile(`(^|_)(password|passphrase|secret|token|private_key|auth_code)$|^(secret|token)_`)

// withoutSecrets leaves members out of a value: those with a name in omit, and all that are secrets by their names.
func withoutSecrets(value any, omit []string) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = withoutSecrets(v[i], omit)
		}
	case map[string]any:
		for name, member := range v {
			if slices.Contains(omit, name) || secretMember.MatchString(name) {
				delete(v, name)
				continue
			}
			v[name] = withoutSecrets(member, omit)
		}
	}
	return value
}

// entry is a JSON file of the archive that is being written.
type entry struct {
	to   interface{ Write([]byte) (int, error) }
	list bool
	n    int
}

func (w *writer) create(name string, list bool) (*entry, error) {
	to, err := w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: w.archive.RequestedAt})
	return &entry{to: to, list: list}, err
}

func (e *entry) add(value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	before := ""
	if e.list {
		before = ",\n"
		if e.n == 0 {
			before = "[\n"
		}
	}
	e.n++
	_, err = e.to.Write(append([]byte(before), text...))
	return err
}

func (e *entry) end() error {
	after := "\n"
	if e.list {
		after = "\n]\n"
		if e.n == 0 {
			after = "[]\n"
		}
	}
	_, err := e.to.Write([]byte(after))
	return err
}

// inBraces finds the parameters in the path of a file.
var inBraces = regexp.MustCompile(`\{([a-z_]+)\}`)

// ownParameter is the parameter of a file that the one that it belongs to does not have.
func ownParameter(f module.Export) string {
	for _, m := range inBraces.FindAllStringSubmatch(f.File, -1) {
		if !strings.Contains(f.Of, m[0]) {
			return m[1]
		}
	}
	return ""
}

// filled is the path of a file for arguments.
func filled(file string, arguments map[string]any) string {
	return inBraces.ReplaceAllStringFunc(file, func(m string) string { return fmt.Sprint(arguments[m[1:len(m)-1]]) })
}

// pattern is the path of a file as README.txt names it.
func pattern(f module.Export) string {
	file := inBraces.ReplaceAllStringFunc(f.File, func(m string) string { return "N" })
	if f.Raw {
		return file + "-…"
	}
	return file + ".json"
}

func (w *writer) text(id string, data map[string]any) string { return i18n.T(w.lang, id, data) }

// readme writes README.txt, which says what each file is.
func (w *writer) readme(owner Owner) error {
	parts := []string{
		w.text("exports.readme.title", map[string]any{"Company": w.service.Brand().Name, "Email": owner.Email}),
		w.text("exports.readme.about", map[string]any{"Time": i18n.Minute(w.archive.RequestedAt.In(time.UTC))}),
		strings.Join(w.written, "\n"),
		w.text("exports.readme.without", nil),
	}
	if len(w.missing) > 0 {
		parts = append(parts, w.text("exports.readme.missing", nil), strings.Join(w.missing, "\n"))
	}
	to, err := w.zip.CreateHeader(&zip.FileHeader{Name: "README.txt", Method: zip.Deflate, Modified: w.archive.RequestedAt})
	if err == nil {
		_, err = to.Write([]byte(strings.Join(parts, "\n\n") + "\n"))
	}
	return err
}

// InOrder returns files so that what another is made for comes before it.
func InOrder(files []module.Export) []module.Export {
	var sorted []module.Export
	var add func(of string)
	add = func(of string) {
		for _, f := range files {
			if f.Of == of {
				sorted = append(sorted, f)
				if !f.Raw {
					add(f.File)
				}
			}
		}
	}
	add("")
	return sorted
}
