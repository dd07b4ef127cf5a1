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

// page answers with a page of the node's own, for when the site has none to
// show. The visitor's language is not known: the text stands there in all.
func page(w http.ResponseWriter, status int, id string) {
	type line struct{ Lang, Text string }
	data := struct {
		Status int
		Texts  []line
	}{Status: status}
	for _, lang := range i18n.Supported() {
		data.Texts = append(data.Texts, line{lang, i18n.T(lang, id, nil)})
	}
	var body bytes.Buffer
	if err := pageTemplate.Execute(&body, data); err != nil {
		status = http.StatusInternalServerError
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client left
}
