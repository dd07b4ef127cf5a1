package files

import (
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// entryWire is what stands at a path (contract, section 22, "File entry").
type entryWire struct {
	Name       string    `json:"name"`
	Path       string    `json:"path" doc:"From the account's home."`
	Type       string    `json:"type" enum:"file,directory,symlink,other"`
	SizeBytes  *int64    `json:"size_bytes" doc:"Of a file."`
	Mode       string    `json:"mode" doc:"Permissions in octal, as 0644."`
	Owner      string    `json:"owner"`
	MIME       *string   `json:"mime" doc:"Of a file, by its name."`
	ETag       *string   `json:"etag" doc:"Of a file: names this version of it."`
	ModifiedAt time.Time `json:"modified_at"`
	LinkTarget *string   `json:"link_target" doc:"Of a symbolic link."`
}

func wireEntry(e panel.Entry) entryWire {
	w := entryWire{
		Name: e.Name, Path: e.Path, Type: string(e.Type), Mode: e.Mode, Owner: e.Owner, ModifiedAt: e.ModifiedAt,
	}
	switch e.Type {
	case panel.TypeFile:
		w.SizeBytes, w.MIME, w.ETag = &e.SizeBytes, &e.MIME, &e.ETag
	case panel.TypeSymlink:
		w.LinkTarget = &e.LinkTarget
	case panel.TypeDirectory, panel.TypeOther:
	}
	return w
}

// blame names the member of the request that is at fault when the panel finds it makes no sense.
type blame string

func (field blame) answer(e panel.Entry, err error) (*entryWire, error) {
	if err != nil {
		return nil, refusal(err, string(field))
	}
	w := wireEntry(e)
	return &w, nil
}

// contentWire is a file's content (contract, section 22, "Content").
type contentWire struct {
	Path       string    `json:"path"`
	Encoding   string    `json:"encoding" enum:"utf-8,base64"`
	Content    string    `json:"content"`
	FromLine   *int      `json:"from_line" doc:"Number of the first line; of text."`
	TotalLines *int      `json:"total_lines" doc:"Of the whole file; of text."`
	SizeBytes  int64     `json:"size_bytes" doc:"Of the whole file."`
	MIME       string    `json:"mime"`
	ETag       string    `json:"etag" doc:"Names this version; give it back when writing."`
	ModifiedAt time.Time `json:"modified_at"`
	Truncated  bool      `json:"truncated" doc:"There is more of what was asked for."`
}

type uploadedWire struct {
	Entries []entryWire `json:"entries" doc:"The files, in the order they came."`
}

type matchWire struct {
	entryWire
	Line    *int    `json:"line" doc:"Of a find in content."`
	Excerpt *string `json:"excerpt" doc:"Of a find in content: some of the line."`
}

func wireMatch(m panel.Match) matchWire {
	w := matchWire{entryWire: wireEntry(m.Entry)}
	if m.Line > 0 {
		w.Line, w.Excerpt = &m.Line, &m.Excerpt
	}
	return w
}

type foundMeta struct {
	page.Meta
	Truncated bool `json:"truncated" doc:"A limit ended the search; there may be more."`
}

type foundWire struct {
	Data []matchWire `json:"data"`
	Meta foundMeta   `json:"meta"`
}

type extractedWire struct {
	Files       int   `json:"files"`
	Directories int   `json:"directories"`
	Bytes       int64 `json:"bytes"`
}

type archiveWire struct {
	Operation string         `json:"operation" enum:"create,extract"`
	Entry     *entryWire     `json:"entry" doc:"The new archive; of create."`
	Extracted *extractedWire `json:"extracted" doc:"What was written; of extract."`
}

// HTTPStatus tells the edge whether something was made.
func (w archiveWire) HTTPStatus() int {
	if w.Operation == "create" {
		return http.StatusCreated
	}
	return http.StatusOK
}
