package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
)

// documentRoot is where a new service's site is.
const documentRoot = "/public_html"

func (d *demonstration) files(rest string) string {
	return "/api/v1/services/" + strconv.FormatInt(d.service, 10) + "/files" + rest
}

// entry is the interface's description of a file.
type entry struct {
	Path string `json:"path"`
	Size int64  `json:"size_bytes"`
	ETag string `json:"etag"`
}

func (d *demonstration) writeFile(ctx context.Context, path, content string) (entry, error) {
	var e entry
	_, err := d.call(ctx, http.MethodPut, d.files("/content"), map[string]string{"path": path, "content": content}, &e)
	return e, err
}

// publishPage writes one page and fetches it: a customer waits from the payment until here.
func (d *demonstration) publishPage(ctx context.Context) error {
	e, index, err := d.firstPage(ctx)
	if err != nil {
		return err
	}
	d.report.note("from pay to the first byte of the site: %s", round(now().Sub(d.paidAt)))

	var c struct {
		Content string `json:"content"`
		ETag    string `json:"etag"`
	}
	if _, err := d.call(ctx, http.MethodGet, d.files("/content?path="+url.QueryEscape(e.Path)), nil, &c); err != nil {
		return err
	}
	if c.Content != index || c.ETag != e.ETag {
		return errors.New("the content that is read is not the one that was written")
	}
	_, err = d.call(ctx, http.MethodPut, d.files("/content"), map[string]string{"path": e.Path, "content": "lost", "etag": "of-another-version"}, nil)
	return expect(err, "etag_mismatch", "writing over another's version")
}

// firstPage writes a page that the site serves afterwards.
func (d *demonstration) firstPage(ctx context.Context) (e entry, index string, err error) {
	index = "<!doctype html><title>" + d.domain + "</title><h1>It works</h1>\n"
	if e, err = d.writeFile(ctx, documentRoot+"/index.html", index); err != nil {
		return e, index, err
	}
	got, err := d.origin.get(ctx, "/")
	if err == nil && (got.status != http.StatusOK || string(got.body) != index) {
		err = fmt.Errorf("%s/ answered %d with %d bytes that are not the page", d.origin, got.status, len(got.body))
	}
	return e, index, err
}

// archiveName is the uploaded archive, which visitors cannot reach.
const archiveName = "site.tar.gz"

// uploadSite packs the site while it uploads, and has it extracted into the document root.
func (d *demonstration) uploadSite(ctx context.Context) error {
	body, form := io.Pipe()
	m := multipart.NewWriter(form)
	type packed struct {
		assets []asset
		err    error
	}
	done := make(chan packed, 1)
	go func() {
		part, err := m.CreateFormFile("file", archiveName)
		var p packed
		if err == nil {
			p.assets, err = pack(d.site, part)
		}
		if err == nil {
			err = m.Close()
		}
		p.err = err
		form.CloseWithError(err)
		done <- p
	}()
	var uploaded struct {
		Entries []entry `json:"entries"`
	}
	_, err := d.send(ctx, http.MethodPost, d.files("/upload?path=/"), body, &uploaded, "Content-Type", m.FormDataContentType())
	_ = body.Close() // ends the packing when the server did not read everything
	p := <-done
	if err != nil {
		return err
	}
	if p.err != nil {
		return fmt.Errorf("the site cannot be packed: %w", p.err)
	}
	d.assets = p.assets

	// The site's start page may be a link, and links replace nothing.
	if _, err := d.call(ctx, http.MethodDelete, d.files("?path="+url.QueryEscape(documentRoot+"/index.html")), nil, nil); err != nil {
		return err
	}
	archive := "/" + archiveName
	var extracted struct {
		Extracted struct {
			Files int   `json:"files"`
			Bytes int64 `json:"bytes"`
		} `json:"extracted"`
	}
	_, err = d.call(ctx, http.MethodPost, d.files("/archive"), map[string]any{
		"operation": "extract", "paths": []string{archive}, "target": documentRoot, "overwrite": true,
	}, &extracted)
	if err != nil {
		return err
	}
	d.report.note("%d files, %d bytes", extracted.Extracted.Files, extracted.Extracted.Bytes)
	_, err = d.call(ctx, http.MethodDelete, d.files("?path="+url.QueryEscape(archive)), nil, nil)
	return err
}

// uploadArchive uploads a small archive that was made before.
func (d *demonstration) uploadArchive(ctx context.Context, name string, content []byte) error {
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	part, err := m.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write(content)
	}
	if err = errors.Join(err, m.Close()); err != nil {
		return err
	}
	_, err = d.send(ctx, http.MethodPost, d.files("/upload?path=/"), &body, nil, "Content-Type", m.FormDataContentType())
	return err
}
