package company

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/brand"
)

// The kinds of pictures.
const (
	Logo = "logo"
	Icon = "icon"
)

// The largest pictures, in bytes and in pixels of a side.
const (
	maxLogo = 256 << 10
	maxIcon = 64 << 10
	maxSide = 4096
)

// image is a picture as it is served.
type image struct {
	Type, Hash string
	Content    []byte
}

func newImage(contentType string, content []byte) image {
	sum := sha256.Sum256(content)
	return image{Type: contentType, Hash: hex.EncodeToString(sum[:8]), Content: content}
}

// The types of pictures and the ends of their names.
const (
	pngType  = "image/png"
	webpType = "image/webp"
	icoType  = "image/x-icon"
	svgType  = "image/svg+xml"
)

var endings = map[string]string{pngType: "png", webpType: "webp", icoType: "ico", svgType: "svg"}

// address is where a picture is served.
func (i image) address(kind string) string {
	return Path + kind + "-" + i.Hash + "." + endings[i.Type]
}

// checkImage finds out the type of a picture from its content, and refuses what is too large or no picture.
func checkImage(kind string, content []byte) (image, error) {
	limit := maxLogo
	if kind == Icon {
		limit = maxIcon
	}
	if len(content) > limit {
		return image{}, errImage("size", map[string]any{"Max": limit >> 10})
	}
	switch {
	case bytes.HasPrefix(content, []byte("\x89PNG\r\n\x1a\n")):
		c, err := png.DecodeConfig(bytes.NewReader(content))
		if err != nil || c.Width > maxSide || c.Height > maxSide {
			return image{}, errImage("type", nil)
		}
		return newImage(pngType, content), nil
	case len(content) > 16 && string(content[:4]) == "RIFF" && string(content[8:12]) == "WEBP":
		return newImage(webpType, content), nil
	case kind == Icon && len(content) > 22 && bytes.HasPrefix(content, []byte{0, 0, 1, 0}):
		return newImage(icoType, content), nil
	}
	if what, err := checkSVG(content); err != nil {
		return image{}, errImage("type", nil)
	} else if what != "" {
		return image{}, errImage("svg", map[string]any{"What": what})
	}
	return newImage(svgType, content), nil
}

// Elements of SVG that draw. Scripts, links, animations and what embeds other documents are not among them.
var drawing = strings.Fields("svg g defs symbol use path rect circle ellipse line polyline polygon text tspan linearGradient radialGradient stop clipPath mask " +
	"pattern title desc metadata style")

var errNoSVG = errors.New("company: no SVG")

// checkSVG names the first thing in an SVG that does not only draw; such a picture is refused whole instead of mended, because
// what a parser of ours leaves out is not what a browser's reads. Its answer's policy is the second lock: it lets nothing run.
func checkSVG(content []byte) (what string, err error) {
	d := xml.NewDecoder(bytes.NewReader(content))
	depth, seen := 0, false
	inStyle := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if !seen || depth != 0 {
				return "", errNoSVG
			}
			return "", nil
		}
		if err != nil {
			return "", errNoSVG
		}
		switch t := token.(type) {
		case xml.Directive:
			return "<!DOCTYPE>", nil
		case xml.ProcInst:
			if t.Target != "xml" {
				return "<?" + t.Target + "?>", nil
			}
		case xml.StartElement:
			if !seen && t.Name.Local != "svg" {
				return "", errNoSVG
			}
			seen = true
			depth++
			if t.Name.Space != "http://www.w3.org/2000/svg" && t.Name.Space != "" || !slices.Contains(drawing, t.Name.Local) {
				return "<" + t.Name.Local + ">", nil
			}
			inStyle = t.Name.Local == "style"
			for _, a := range t.Attr {
				if !harmless(a) {
					return a.Name.Local + "=", nil
				}
			}
		case xml.EndElement:
			depth--
			inStyle = false
		case xml.CharData:
			if inStyle && !onlyOwn(string(t)) {
				return "<style>", nil
			}
		}
	}
}

// harmless reports whether an attribute runs nothing and loads nothing.
func harmless(a xml.Attr) bool {
	name := strings.ToLower(a.Name.Local)
	switch {
	case strings.HasPrefix(name, "on"):
		return false
	case name == "href":
		return strings.HasPrefix(a.Value, "#")
	case a.Name.Space == "xmlns" || name == "xmlns":
		return true // names, not loaded
	}
	return onlyOwn(a.Value)
}

// onlyOwn reports whether a style refers to nothing but the picture's own parts.
func onlyOwn(style string) bool {
	lower := strings.ToLower(style)
	if strings.ContainsAny(lower, `@\`) || strings.Contains(lower, "script:") || strings.Contains(lower, "data:") {
		return false
	}
	for rest := lower; ; {
		_, after, found := strings.Cut(rest, "url(")
		if !found {
			return true
		}
		if rest = strings.TrimLeft(after, `'" `); !strings.HasPrefix(rest, "#") {
			return false
		}
	}
}

// initial is the picture in a browser's tab where the company has uploaded none: the first letter of its name.
func initial(b brand.Brand) image {
	letter, _ := utf8.DecodeRuneInString(strings.TrimSpace(b.Name))
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(string(unicode.ToUpper(letter)))) // a builder takes everything
	p := b.Light()
	return newImage(svgType, fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="%s"/>`+
		`<text x="16" y="23" font-family="system-ui, sans-serif" font-size="20" font-weight="700" text-anchor="middle" fill="%s">%s</text></svg>`,
		p.Accent, p.OnAccent, escaped.String()))
}
