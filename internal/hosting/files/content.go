package files

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// How a content stands in JSON.
const (
	encodingText   = "utf-8"
	encodingBase64 = "base64"
)

// maxWriteBody lets a content of MaxContent through in either encoding: base64 adds a third, the
// escapes of JSON at most double what people write.
const maxWriteBody = 2*MaxContent + 64<<10

type readIn struct {
	Service  int64  `path:"service" doc:"Id of the service"`
	Path     string `query:"path" required:"true" minLength:"1" doc:"Path from the account's home, such as /public_html/index.html"`
	FromLine int    `query:"from_line" minimum:"1" maximum:"1000000000" default:"1" doc:"First line, counted from 1."`
	Lines    int    `query:"lines" minimum:"1" maximum:"100000" doc:"Number of lines; all when absent."`
}

func (s *Service) read(ctx context.Context, p auth.Principal, in *readIn) (*contentWire, error) {
	files, ref, err := open[panel.Files](ctx, s, panel.CapFiles, p, in.Service)
	if err != nil {
		return nil, err
	}
	c, err := files.Read(ctx, ref, in.Path, panel.ReadOptions{FromLine: in.FromLine, Lines: in.Lines, MaxBytes: MaxContent})
	if err != nil {
		return nil, refusal(err, "path")
	}
	out := &contentWire{
		Path: c.Path, Encoding: encodingBase64, SizeBytes: c.SizeBytes, ETag: c.ETag, MIME: c.MIME,
		ModifiedAt: c.ModifiedAt, Truncated: c.Truncated,
	}
	if c.Text {
		out.Encoding, out.Content = encodingText, string(c.Data)
		out.FromLine, out.TotalLines = &c.FromLine, &c.TotalLines
	} else {
		out.Content = base64.StdEncoding.EncodeToString(c.Data)
	}
	return out, nil
}

type writeIn struct {
	Service     int64  `path:"service" doc:"Id of the service"`
	IfMatch     string `header:"If-Match" maxLength:"200" doc:"The version that is to be replaced, as the ETag of a download; the same as etag of the body. Another one there is 409 etag_mismatch."`
	IfNoneMatch string `header:"If-None-Match" enum:"*" doc:"Only when there is nothing at the path; else 422 already_exists."`
	Body        struct {
		Path     string `json:"path" minLength:"1"`
		Content  string `json:"content"`
		Encoding string `json:"encoding,omitempty" enum:"utf-8,base64" doc:"Of content; utf-8 when absent."`
		ETag     string `json:"etag,omitempty" maxLength:"200" doc:"The version that is to be replaced; another one there is 409 etag_mismatch."`
	}
}

func (s *Service) write(ctx context.Context, p auth.Principal, in *writeIn) (*entryWire, error) {
	files, ref, err := open[panel.Files](ctx, s, panel.CapFiles, p, in.Service)
	if err != nil {
		return nil, err
	}
	data := []byte(in.Body.Content)
	if in.Body.Encoding == encodingBase64 {
		if data, err = base64.StdEncoding.DecodeString(in.Body.Content); err != nil {
			return nil, fault.Invalid("content", "expected_base64")
		}
	}
	if len(data) > MaxContent {
		return nil, ErrFileTooLarge.With(fault.Fields{"limit_bytes": MaxContent})
	}
	options := panel.WriteOptions{ETag: in.Body.ETag, IfAbsent: in.IfNoneMatch != "", Parents: true}
	if in.IfMatch != "" {
		etag, err := strconv.Unquote(in.IfMatch)
		if err != nil || etag == "" || strings.ContainsAny(etag, `"`) || options.ETag != "" && options.ETag != etag {
			return nil, fault.Invalid("If-Match", "value") // a weak one never matches, and any is what a write without it means
		}
		options.ETag = etag
	}
	return blame("path").answer(files.Write(ctx, ref, in.Body.Path, data, options))
}
