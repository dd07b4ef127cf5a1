package web

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strconv"

	"stead.dev/stead/internal/platform/i18n"
)

//go:embed page.html
var frame string

var pageTemplate = template.Must(template.New("page").Parse(frame))

// Page is a page of the node's own, for a site without a fitting one. The visitor's language is unknown, so it has the
// text in all languages.
func Page(status int, id string) ([]byte, error) {
	type line struct{ Lang, Text string }
	data := struct {
		Status int
		Texts  []line
	}{Status: status}
	for _, lang := range i18n.Supported() {
		data.Texts = append(data.Texts, line{lang, i18n.T(lang, id, nil)})
	}
	var body bytes.Buffer
	err := pageTemplate.Execute(&body, data)
	return body.Bytes(), err
}

// page writes a page of the node's own.
func page(w http.ResponseWriter, status int, id string) {
	body, err := Page(status, id)
	if err != nil {
		status = http.StatusInternalServerError
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client left
}
