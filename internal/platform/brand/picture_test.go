package brand_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/fault"
)

func pngOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// icoOf is an ICO with one picture, whose head says that it has so many bytes.
func icoOf(picture []byte, size int) []byte {
	head := binary.LittleEndian.AppendUint32([]byte{0, 0, 1, 0, 1, 0, 16, 16, 0, 0, 1, 0, 32, 0}, uint32(size))
	return append(binary.LittleEndian.AppendUint32(head, 22), picture...)
}

// check judges a picture as a member of a body.
func check(kind string, content []byte) (brand.Picture, error) {
	in := brand.PicturesIn{Logo: &content}
	if kind == brand.IconKind {
		in = brand.PicturesIn{Icon: &content}
	}
	changed, err := in.Checked()
	return changed[kind], err
}

func TestSettingsThatAreNoneAreRefused(t *testing.T) {
	for _, set := range []brand.Settings{
		{Name: "a\nb"},
		{Name: "a\u202eb"},
		{Color: "red"},
		{Color: "#12345g"},
		{Color: "#+12345"},
		{Support: "Anna <a@b.example>"},
		{Support: "nobody"},
		{Terms: "/terms"},
		{Privacy: "javascript:alert(1)"},
		{Imprint: "https://user@host.example/"},
		{Imprint: "https://host.example/ \"x"},
		{Terms: "https:///x"},
	} {
		if got, err := set.Checked(); err == nil {
			t.Errorf("%+v is taken as %+v", set, got)
		}
	}
}

func TestPicturesAreKnownByTheirContent(t *testing.T) {
	const head, end = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9">`, `</svg>`
	small, vast := pngOf(t, 16, 16), pngOf(t, 4000, 1)
	webpOf := func(chunk, head string) []byte {
		return append([]byte("RIFF\x20\x00\x00\x00WEBP"+chunk+"\x16\x00\x00\x00"+head), make([]byte, 12)...)
	}
	for name, c := range map[string]struct {
		kind    string
		content []byte
		want    string
	}{
		"a PNG":                      {brand.LogoKind, pngOf(t, 100, 20), brand.PNG},
		"a PNG that is too wide":     {brand.LogoKind, pngOf(t, 4097, 1), ""},
		"a PNG without its head":     {brand.LogoKind, []byte("\x89PNG\r\n\x1a\n<script>"), ""},
		"a WebP":                     {brand.LogoKind, webpOf("VP8 ", "\x30\x01\x00\x9d\x01\x2a\x40\x00\x20\x00"), "image/webp"},
		"a WebP without loss":        {brand.LogoKind, webpOf("VP8L", "\x2f\x3f\xc0\x07\x00"), "image/webp"},
		"a WebP with more":           {brand.LogoKind, webpOf("VP8X", "\x10\x00\x00\x00\x3f\x00\x00\x1f\x00\x00"), "image/webp"},
		"a WebP that is too wide":    {brand.LogoKind, webpOf("VP8X", "\x10\x00\x00\x00\xff\xff\x00\x1f\x00\x00"), ""},
		"a WebP of nothing":          {brand.LogoKind, webpOf("VP8 ", ""), ""},
		"an ICO":                     {brand.IconKind, icoOf(small, len(small)), "image/x-icon"},
		"an ICO as the logo":         {brand.LogoKind, icoOf(small, len(small)), ""},
		"an ICO that is cut off":     {brand.IconKind, icoOf(small, len(small)+1), ""},
		"an ICO with a vast picture": {brand.IconKind, icoOf(vast, len(vast)), ""},
		"an ICO of nothing":          {brand.IconKind, []byte{0, 0, 1, 0}, ""},
		"that copies without end":    {brand.LogoKind, []byte(head + strings.Repeat(`<use href="#g"/>`, 21) + end), ""},
		"a page":                     {brand.LogoKind, []byte("<!doctype html><script>alert(1)</script>"), ""},
		"nothing but spaces":         {brand.LogoKind, []byte(" "), ""},
		"too much for an icon":       {brand.IconKind, append(pngOf(t, 1, 1), make([]byte, 64<<10)...), ""},
		"an SVG":                     {brand.LogoKind, []byte(`<?xml version="1.0"?>` + head + `<style>.a{fill:url(#g)}</style><path class="a" d="M0 0h9v9z"/><use href="#g"/>` + end), brand.SVG},
		"an SVG with a script":       {brand.LogoKind, []byte(head + `<script>alert(1)</script>` + end), ""},
		"with an event":              {brand.LogoKind, []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`), ""},
		"with a page in it":          {brand.LogoKind, []byte(head + `<foreignObject><b xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>` + end), ""},
		"with a link":                {brand.LogoKind, []byte(head + `<a xlink:href="https://evil.example/"><path/></a>` + end), ""},
		"with another picture":       {brand.LogoKind, []byte(head + `<image href="https://evil.example/p.png"/>` + end), ""},
		"that uses another file":     {brand.LogoKind, []byte(head + `<use xlink:href="https://evil.example/s.svg#a"/>` + end), ""},
		"that loads a style":         {brand.LogoKind, []byte(head + `<style>@import url(https://evil.example/)</style>` + end), ""},
		"that loads by an attribute": {brand.LogoKind, []byte(head + `<path fill="url( 'https://evil.example/' )"/>` + end), ""},
		"with entities":              {brand.LogoKind, []byte(`<!DOCTYPE svg [<!ENTITY a "b">]>` + head + `&a;` + end), ""},
		"with a style of XML":        {brand.LogoKind, []byte(`<?xml-stylesheet href="https://evil.example/"?>` + head + end), ""},
		"with an animation":          {brand.LogoKind, []byte(head + `<set attributeName="href" to="javascript:alert(1)"/>` + end), ""},
		"that is cut off":            {brand.LogoKind, []byte(head + `<path d="M0 0"`), ""},
		"of another namespace":       {brand.LogoKind, []byte(`<svg xmlns="http://www.w3.org/1999/xhtml"/>`), ""},
	} {
		i, err := check(c.kind, c.content)
		if (err == nil) != (c.want != "") || i.Type != c.want {
			t.Errorf("%s: %q, %v", name, i.Type, err)
		}
	}
}

func TestPicturesStayOrGo(t *testing.T) {
	none := []byte{}
	changed, err := brand.PicturesIn{Icon: &none}.Checked()
	if p, ok := changed[brand.IconKind]; err != nil || !ok || p.Content != nil || len(changed) != 1 {
		t.Errorf("an empty icon: %v, %v", changed, err)
	}
	long := make([]byte, 1<<20)
	var refusal *fault.Error
	if _, err := (brand.PicturesIn{Icon: &long}).Checked(); !errors.As(err, &refusal) || refusal.Invalid["icon"] == nil {
		t.Errorf("a large icon: %v", err)
	}
}

func TestTheInitialIsAPicture(t *testing.T) {
	for _, name := range []string{"stead", "Ўзбек", "<b>", "&co"} {
		i := brand.Initial(brand.Brand{Name: name})
		if _, err := check(brand.LogoKind, i.Content); err != nil {
			t.Errorf("%s: %v: %s", name, err, i.Content)
		}
	}
}

func TestNamesThatSpeakForTheCompany(t *testing.T) {
	for _, name := range []string{"Stead", " STEAD ", "S-t-e-a-d", "Stеad", "5tead", "Stéad", "ѕtead!", "Stead Support", "Stead-Hosting", "5tead: billing"} {
		if !brand.SpeaksFor(name, "Stead") {
			t.Errorf("%q passes for another name", name)
		}
	}
	for _, name := range []string{"", "Homestead", "Steady", "Steadfast Web", "Samarkand Web", "Web for Stead", "!"} {
		if brand.SpeaksFor(name, "Stead") {
			t.Errorf("%q passes for our name", name)
		}
	}
	if brand.SpeaksFor("", "") || brand.SpeaksFor("Anna", "") {
		t.Error("no name is a name")
	}
}

func TestTheVersionIsThatOfTextsAndPictures(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range []brand.Settings{{}, {Name: "a"}, {Color: "a"}, {Name: "a b"}, {Name: "a", Color: "b"}} {
		for _, pictures := range []map[string]string{nil, {brand.LogoKind: "1"}, {brand.IconKind: "1"}} {
			etag := s.ETag(pictures)
			if seen[etag] {
				t.Errorf("%+v with %v has the version of another", s, pictures)
			}
			seen[etag] = true
		}
	}
}
