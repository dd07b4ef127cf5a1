package runs

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/redact"
	"stead.dev/stead/internal/port/panel"
)

func writingTools() []tool {
	return []tool{
		{
			name: "edit_file", plan: editFile,
			description: "Replace texts in a file. Each old must occur exactly count times (1 without it) in the file as you read it; all edits are made or none. " +
				"The etag is that of your last read_file.",
			schema: `{"type": "object", "properties": {"path": {"type": "string"}, "etag": {"type": "string"}, "edits": {"type": "array", "minItems": 1, "maxItems": 50,
				"items": {"type": "object", "properties": {"old": {"type": "string"}, "new": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
				"required": ["old", "new"], "additionalProperties": false}}}, "required": ["path", "etag", "edits"], "additionalProperties": false}`,
		},
		{
			name: "write_file", plan: writeFile,
			description: "Write a whole file. Without an etag it creates a file that must not be there; with the etag of your last read_file it replaces that version. " +
				"Write everything: never leave out what stays the same.",
			schema: `{"type": "object", "properties": {"path": {"type": "string"}, "etag": {"type": ["string", "null"]}, "content": {"type": "string"}},
				"required": ["path", "content"], "additionalProperties": false}`,
		},
		{
			name: "make_directory", plan: makeDirectory, description: "Make a folder, and those above it that are missing.",
			schema: `{"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false}`,
		},
		{
			name: "move_path", plan: movePath, description: "Give a file or folder another name or place. Nothing may be at the new one.",
			schema: `{"type": "object", "properties": {"from": {"type": "string"}, "to": {"type": "string"}}, "required": ["from", "to"], "additionalProperties": false}`,
		},
		{
			name: "delete_path", plan: deletePath, description: "Delete a file or folder. The customer is asked first, and can take it back.",
			schema: `{"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false}`,
		},
	}
}

func editFile(ctx context.Context, w workplace, arguments string) (p plan, err error) {
	in, err := decode[struct {
		Path  string    `json:"path"`
		ETag  string    `json:"etag"`
		Edits []edition `json:"edits"`
	}](arguments)
	if err != nil {
		return p, err
	}
	name, err := w.within(in.Path)
	if err != nil {
		return p, err
	}
	if len(in.Edits) == 0 {
		return p, malformed("there are no edits")
	}
	found, err := w.textAt(ctx, name)
	if err != nil {
		return p, err
	}
	if found.hash != in.ETag {
		return p, changedMeanwhile(name)
	}
	for _, e := range in.Edits {
		if redact.Masked(e.Old) || redact.Masked(e.New) {
			return p, hasSecret()
		}
	}
	after, err := applyEdits(string(found.content), in.Edits)
	if err != nil {
		return p, refuse("edit_not_unique", "%s", w.mask.Mask(name, err.Error()))
	}
	return w.write(ctx, edit, name, found, after)
}

func writeFile(ctx context.Context, w workplace, arguments string) (p plan, err error) {
	in, err := decode[struct {
		Path    string  `json:"path"`
		ETag    *string `json:"etag"`
		Content string  `json:"content"`
	}](arguments)
	if err != nil {
		return p, err
	}
	name, err := w.within(in.Path)
	if err != nil {
		return p, err
	}
	if redact.Masked(in.Content) {
		return p, hasSecret()
	}
	if in.ETag == nil || *in.ETag == "" {
		found, err := w.look(ctx, name)
		switch {
		case err != nil:
			return p, err
		case found.hash != nothing:
			return p, refuse("already_exists", "%s is there; read it, and give its etag to replace it", name)
		}
		folders, err := w.folders(ctx, path.Dir(name))
		if err != nil {
			return p, err
		}
		p, err = w.write(ctx, create, name, thing{}, in.Content)
		p.changes = append(folders, p.changes...)
		return p, err
	}
	found, err := w.textAt(ctx, name)
	switch {
	case err != nil:
		return p, err
	case found.hash != *in.ETag:
		return p, changedMeanwhile(name)
	case truncates(string(found.content), in.Content):
		return p, refuse("content_left_out", "the content seems to leave out what stays the same: write all of it, or use edit_file")
	}
	return w.write(ctx, replace, name, found, in.Content)
}

// write plans that a file gets a content.
func (w workplace) write(ctx context.Context, kind changeKind, name string, before thing, after string) (p plan, err error) {
	switch {
	case len(after) > mostEdited:
		return p, refuse("file_too_large", "a file may have %d bytes", mostEdited)
	case !utf8.ValidString(after):
		return p, malformed("the content is not UTF-8")
	case secretsIn(w.issued, name, string(before.content)) != secretsIn(w.issued, name, after):
		return p, refuse("secret_touched", "what is secret in %s must stay as it is", name)
	case before.hash == hashOf([]byte(after)):
		return p, refuse("nothing_changed", "%s has this content already", name)
	}
	if err := w.wellFormed(ctx, name, after); err != nil {
		return p, err
	}
	p.changes = []change{{
		kind: kind, path: name, before: before.hash, after: hashOf([]byte(after)), bytes: int64(len(after)),
		diff: diffOf(w.mask, name, string(before.content), after),
	}}
	p.contents = [][]byte{[]byte(after)}
	if kind != create {
		p.contents = append(p.contents, before.content)
	}
	return p, nil
}

// programs are the endings of files that PHP reads.
var programs = []string{".php", ".php3", ".php4", ".php5", ".php7", ".php8", ".phtml", ".pht"}

// wellFormed refuses a PHP program that PHP cannot read, where the hosting server can tell.
func (w workplace) wellFormed(ctx context.Context, name, content string) error {
	if w.programs == nil || !slices.Contains(programs, strings.ToLower(path.Ext(name))) {
		return nil
	}
	message, err := w.programs.CheckPHP(ctx, w.ref, []byte(content))
	switch {
	case errors.Is(err, panel.ErrUnsupported):
		return nil
	case err != nil:
		return err
	case message != "":
		return refuse("php_syntax", "nothing was written: %s", w.mask.Mask("", plain(message)))
	}
	return nil
}

func makeDirectory(ctx context.Context, w workplace, arguments string) (p plan, err error) {
	name, err := w.decodePath(arguments)
	if err != nil {
		return p, err
	}
	p.changes, err = w.folders(ctx, name)
	if err == nil && len(p.changes) == 0 {
		err = refuse("already_exists", "%s is there", name)
	}
	return p, err
}

// folders plans a folder and those above it, as far as they are missing.
func (w workplace) folders(ctx context.Context, name string) ([]change, error) {
	var all []change
	for ; name != "/"; name = path.Dir(name) {
		found, err := w.look(ctx, name)
		if err != nil {
			return nil, err
		}
		if found.hash == directory {
			break
		}
		if found.hash != nothing {
			return nil, refuse("already_exists", "%s is no folder", name)
		}
		all = append(all, change{kind: mkdir, path: name, before: nothing, after: directory})
	}
	slices.Reverse(all)
	return all, nil
}

func movePath(ctx context.Context, w workplace, arguments string) (p plan, err error) {
	in, err := decode[struct {
		From string `json:"from"`
		To   string `json:"to"`
	}](arguments)
	if err != nil {
		return p, err
	}
	from, err := w.within(in.From)
	if err != nil {
		return p, err
	}
	to, err := w.within(in.To)
	if err != nil {
		return p, err
	}
	if inside(to, from) {
		return p, malformed("%s is in %s", to, from)
	}
	found, err := w.movable(ctx, from)
	if err != nil {
		return p, err
	}
	there, err := w.look(ctx, to)
	switch {
	case err != nil:
		return p, err
	case there.hash != nothing:
		return p, refuse("already_exists", "%s is there", to)
	}
	if p.changes, err = w.folders(ctx, path.Dir(to)); err != nil {
		return p, err
	}
	p.changes = append(p.changes, change{kind: move, path: from, toPath: to, before: found.hash, after: found.hash})
	return p, nil
}

func deletePath(ctx context.Context, w workplace, arguments string) (p plan, err error) {
	name, err := w.decodePath(arguments)
	if err != nil {
		return p, err
	}
	found, err := w.movable(ctx, name)
	if err != nil {
		return p, err
	}
	c := change{kind: remove, path: name, before: found.hash, after: found.hash}
	if found.content != nil && utf8.Valid(found.content) {
		c.diff = diffOf(w.mask, name, string(found.content), "")
	}
	return plan{changes: []change{c}}, nil
}

// movable is what is at a path and may get another name.
func (w workplace) movable(ctx context.Context, name string) (thing, error) {
	found, err := w.look(ctx, name)
	switch {
	case err != nil:
		return found, err
	case found.hash == nothing:
		return found, refuse("not_found", "there is nothing at %s", name)
	case found.hash == other:
		return found, refuse("not_a_file", "%s is a link, or behind one", name)
	case found.hash != directory:
		return found, nil
	}
	secrets, err := w.hidesSecrets(ctx, name)
	if err == nil && secrets {
		err = refuse("sensitive_file", "%s holds files with secrets, which stay where they are, or more than can be looked at", name)
	}
	return found, err
}

// hidesSecrets tells whether a folder has a file with secrets, or more than is looked at.
func (w workplace) hidesSecrets(ctx context.Context, dir string) (bool, error) {
	left := 10 * mostEntries
	var walk func(dir string) (bool, error)
	walk = func(dir string) (bool, error) {
		l, err := w.files.List(ctx, w.ref, dir, 0, left)
		if err != nil || l.Total > len(l.Entries) || len(l.Entries) >= left {
			return true, err
		}
		left -= len(l.Entries)
		for _, e := range l.Entries {
			if redact.Sensitive(e.Path) || !w.terms.reaches(e.Path) {
				return true, nil
			}
			if e.Type == panel.TypeDirectory {
				if found, err := walk(e.Path); found || err != nil {
					return found, err
				}
			}
		}
		return false, nil
	}
	return walk(dir)
}

func changedMeanwhile(name string) error {
	return refuse("etag_mismatch", "%s is not as you have read it: read it again", name)
}

func hasSecret() error {
	return refuse("secret_touched", "the text has the token of a secret: leave out the lines that have secrets")
}
