package files

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"strconv"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/contentcoding"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

const zipType = "application/zip"

// uploadBuffer is how much of an upload is read at once, in bytes.
const uploadBuffer = 128 << 10

// maxField bounds a field of the upload form, in bytes.
const maxField = 4096

type uploadIn struct {
	Service   int64   `path:"service" doc:"Id of the service"`
	Path      *string `query:"path" doc:"Directory to put the files into; may be a field of the form instead."`
	Overwrite bool    `query:"overwrite" doc:"Replace files that are there; may be a field of the form instead."`
}

// openForm begins to read the form of an upload, which may be as large as the settings say.
func (s *Service) openForm(w http.ResponseWriter, r *http.Request) (*multipart.Reader, error) {
	body := http.MaxBytesReader(w, r.Body, s.maxUpload)
	// The reader of forms asks for 4 KB at a time, which would be a system call each.
	r.Body = struct {
		io.Reader
		io.Closer
	}{bufio.NewReaderSize(body, uploadBuffer), body}
	form, err := r.MultipartReader()
	switch {
	case errors.Is(err, http.ErrNotMultipart):
		return nil, fault.UnsupportedMediaType.With(fault.Fields{"expected": "multipart/form-data"})
	case err != nil:
		return nil, fault.InvalidRequest.Wrap(err)
	}
	return form, nil
}

// upload passes the parts of the form on to the panel while they arrive. Nothing is kept: where the
// files go has to be known before the first of them comes.
func (s *Service) upload(ctx context.Context, p auth.Principal, in *uploadIn, w http.ResponseWriter, r *http.Request) error {
	files, ref, err := open[panel.Files](ctx, s, panel.CapFiles, p, in.Service)
	if err != nil {
		return err
	}
	form, err := s.openForm(w, r)
	if err != nil {
		return err
	}
	done := uploadedWire{Entries: []entryWire{}}
	err = s.storeAll(ctx, files, ref, destination{dir: in.Path, overwrite: in.Overwrite}, form, &done)
	if err != nil {
		return withStored(err, len(done.Entries))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(done)
}

// storeAll stores the files of the form in their order, and adds each to done.
func (s *Service) storeAll(ctx context.Context, files panel.Files, ref string, into destination, form *multipart.Reader, done *uploadedWire) error {
	for {
		part, err := form.NextRawPart()
		switch {
		case errors.Is(err, io.EOF) && len(done.Entries) == 0:
			return fault.Invalid("file", "required")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return s.broken(err)
		}
		if part.FormName() != "file" {
			if err := into.field(part); err != nil {
				return s.broken(err)
			}
			continue
		}
		if len(done.Entries) == maxUploadFiles {
			return fault.InvalidData("file", "max_items", map[string]any{"Value": strconv.Itoa(maxUploadFiles)})
		}
		e, err := s.store(ctx, files, ref, into, part)
		if err != nil {
			return err
		}
		done.Entries = append(done.Entries, wireEntry(e))
	}
}

// withStored adds to a refusal how many files of the form were stored before it, so that the sender need not send them again.
func withStored(err error, stored int) error {
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return err
	}
	with := *refused
	with.Fields = maps.Clone(refused.Fields)
	if with.Fields == nil {
		with.Fields = fault.Fields{}
	}
	with.Fields["stored"] = stored
	return &with
}

// destination is where the files of a form go.
type destination struct {
	dir       *string
	overwrite bool
}

// field takes a part of the form that is no file.
func (d *destination) field(part *multipart.Part) error {
	name := part.FormName()
	if name != "path" && name != "overwrite" {
		return api.Unknown(name, "path", "overwrite", "file")
	}
	b, err := io.ReadAll(io.LimitReader(part, maxField+1))
	switch {
	case err != nil:
		return err
	case len(b) > maxField:
		return fault.InvalidData(name, "max_length", map[string]any{"Value": strconv.Itoa(maxField)})
	case name == "path":
		text := string(b)
		d.dir = &text
		return nil
	}
	if d.overwrite, err = strconv.ParseBool(string(b)); err != nil {
		return fault.Invalid(name, "expected_boolean")
	}
	return nil
}

// store streams one file of the form to the panel.
func (s *Service) store(ctx context.Context, files panel.Files, ref string, into destination, part *multipart.Part) (panel.Entry, error) {
	if into.dir == nil {
		return panel.Entry{}, fault.Invalid("path", "file_path_first")
	}
	name := part.FileName() // without directories, as RFC 7578 section 4.2 wants
	if name == "" || name == "." || name == ".." || name == "/" {
		return panel.Entry{}, fault.Invalid("file", "file_name")
	}
	src := &source{Reader: part}
	// Joined as text on purpose: cleaning here could hide from the panel a path that climbs out.
	e, err := files.Upload(ctx, ref, *into.dir+"/"+name, src, panel.WriteOptions{IfAbsent: !into.overwrite, Parents: true})
	if err != nil && src.err != nil {
		return e, s.broken(src.err)
	}
	return e, refusal(err, "path")
}

// source remembers why reading from the client failed, to tell it from a failure of the panel.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// broken says what is wrong with a form that cannot be read to its end.
func (s *Service) broken(err error) error {
	var known *fault.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &large):
		return fault.PayloadTooLarge.With(fault.Fields{"limit_bytes": s.maxUpload})
	}
	return fault.InvalidRequest.Wrap(err)
}

type downloadIn struct {
	Service int64  `path:"service" doc:"Id of the service"`
	Path    string `query:"path" required:"true" minLength:"1" doc:"Path from the account's home, such as /public_html/index.html"`
}

func (s *Service) download(ctx context.Context, p auth.Principal, in *downloadIn, w http.ResponseWriter, r *http.Request) error {
	files, ref, err := open[panel.Files](ctx, s, panel.CapFiles, p, in.Service)
	if err != nil {
		return err
	}
	e, err := files.Stat(ctx, ref, in.Path)
	if err != nil {
		return refusal(err, "path")
	}
	if e.Type == panel.TypeDirectory {
		return s.downloadZip(ctx, p, in, e, w, r)
	}
	f, err := files.Open(ctx, ref, in.Path)
	if err != nil {
		return refusal(err, "path")
	}
	defer func() { _ = f.Close() }() // opened for reading
	e = f.Entry()
	attach(w, e.Name, e.MIME)
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("ETag", strconv.Quote(e.ETag))
	ranged := &rangeWriter{ResponseWriter: w}
	contentcoding.ServeContent(ranged, r, "", e.ModifiedAt, f)
	if ranged.refused {
		return ErrRange.New()
	}
	return nil
}

// rangeWriter keeps net/http's own text for a range that is not there back, for
// every refusal is an error object.
type rangeWriter struct {
	http.ResponseWriter
	refused bool
}

func (w *rangeWriter) WriteHeader(status int) {
	if w.refused = status == http.StatusRequestedRangeNotSatisfiable; !w.refused {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *rangeWriter) Write(b []byte) (int, error) {
	if w.refused {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController the writer beneath.
func (w *rangeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (s *Service) downloadZip(ctx context.Context, p auth.Principal, in *downloadIn, e panel.Entry, w http.ResponseWriter, r *http.Request) error {
	archives, ref, err := open[panel.Archives](ctx, s, panel.CapArchives, p, in.Service)
	if err != nil {
		return err
	}
	zip, err := archives.OpenZip(ctx, ref, in.Path)
	if err != nil {
		return refusal(err, "path")
	}
	defer func() { _ = zip.Close() }() // ends the packing
	name := e.Name
	if e.Path == "/" {
		name = "files"
	}
	attach(w, name+".zip", zipType)
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if _, err := io.Copy(w, zip); err != nil {
		return fmt.Errorf("download of a directory: %w", err)
	}
	return nil
}

// attach makes browsers store a customer's file and never show it: shown, its scripts would run on
// the interface's own origin.
func attach(w http.ResponseWriter, name, mediaType string) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Disposition", contentDisposition(name))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
}
