package brand

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/contentcoding"
	"stead.dev/stead/internal/platform/fault"
)

// The kinds of pictures.
const (
	LogoKind = "logo" // stands for the name
	IconKind = "icon" // in a browser's tab
)

// The largest pictures, in bytes and in pixels of a side.
const (
	maxLogo = 256 << 10
	maxIcon = 64 << 10
	maxSide = 4096
)

// MaxBody is the largest body with both pictures: their bytes in base64, and the texts beside them.
const MaxBody = (maxLogo+maxIcon)*4/3 + 16<<10

// maxCopies bounds the elements of an SVG that repeat others: copies of copies would grow without end.
const maxCopies = 20

// Picture is a picture as it is served.
type Picture struct {
	Type, Hash string
	Content    []byte
}

// The types of pictures and the ends of their names.
const (
	PNG  = "image/png"
	webp = "image/webp"
	ico  = "image/x-icon"
	SVG  = "image/svg+xml"
)

var endings = map[string]string{PNG: "png", webp: "webp", ico: "ico", SVG: "svg"}

// NewPicture is the picture of a content whose type is known.
func NewPicture(contentType string, content []byte) Picture {
	sum := sha256.Sum256(content)
	return Picture{Type: contentType, Hash: hex.EncodeToString(sum[:16]), Content: content}
}

// File is the name under which a picture is served: it has the hash of the content.
func (p Picture) File(kind string) string { return kind + "-" + p.Hash + "." + endings[p.Type] }

// DataURL is the picture as an address that needs no request.
func (p Picture) DataURL() string {
	return "data:" + p.Type + ";base64," + base64.StdEncoding.EncodeToString(p.Content)
}

// PicturesIn are the members of a body that change the pictures.
type PicturesIn struct {
	Logo *[]byte `json:"logo,omitempty" contentEncoding:"base64" doc:"PNG, WebP or SVG of at most 256 KB in base64. Left out: the present one stays; empty: it is taken away. An SVG has nothing but shapes."`
	Icon *[]byte `json:"icon,omitempty" contentEncoding:"base64" doc:"PNG, ICO, WebP or SVG of at most 64 KB in base64. Left out: the present one stays; empty: it is taken away."`
}

// Checked returns the pictures that are changed, by their kinds; one without content is taken away.
func (in PicturesIn) Checked() (map[string]Picture, error) {
	changed := map[string]Picture{}
	for kind, content := range map[string]*[]byte{LogoKind: in.Logo, IconKind: in.Icon} {
		if content == nil {
			continue
		}
		p := Picture{}
		if len(*content) > 0 {
			var err error
			if p, err = checkPicture(kind, *content); err != nil {
				return nil, err
			}
		}
		changed[kind] = p
	}
	return changed, nil
}

// checkPicture finds out the type of a picture from its content, and refuses what is too large or no picture.
func checkPicture(kind string, content []byte) (Picture, error) {
	refuse := func(why string, data map[string]any) (Picture, error) {
		return Picture{}, fault.InvalidData(kind, "company_image_"+why, data)
	}
	limit := maxLogo
	if kind == IconKind {
		limit = maxIcon
	}
	if len(content) > limit {
		return refuse("size", map[string]any{"Max": limit >> 10})
	}
	known := ""
	switch {
	case isPNG(content):
		known = PNG
	case len(content) > 30 && string(content[:4]) == "RIFF" && string(content[8:12]) == "WEBP":
		if isWebP(content) {
			known = webp
		}
	case kind == IconKind && bytes.HasPrefix(content, []byte{0, 0, 1, 0}):
		if isICO(content) {
			known = ico
		}
	default:
		what, err := checkSVG(content)
		if what != "" {
			return refuse("svg", map[string]any{"What": what})
		}
		if err == nil {
			known = SVG
		}
	}
	if known == "" {
		return refuse("type", nil)
	}
	return NewPicture(known, content), nil
}

// isPNG reports whether a content is a PNG that browsers can unpack: a small file may hold a vast picture.
func isPNG(content []byte) bool {
	c, err := png.DecodeConfig(bytes.NewReader(content))
	return err == nil && c.Width <= maxSide && c.Height <= maxSide
}

// isWebP is isPNG for a WebP (RFC 9649, section 2): its size stands in the first chunk.
func isWebP(content []byte) bool {
	var width, height uint32
	switch first := content[20:]; string(content[12:16]) {
	case "VP8 ":
		if !bytes.Equal(first[3:6], []byte{0x9d, 0x01, 0x2a}) {
			return false
		}
		width, height = uint32(binary.LittleEndian.Uint16(first[6:])&0x3fff), uint32(binary.LittleEndian.Uint16(first[8:])&0x3fff)
	case "VP8L":
		bits := binary.LittleEndian.Uint32(first[1:])
		if first[0] != 0x2f {
			return false
		}
		width, height = bits&0x3fff+1, bits>>14&0x3fff+1
	case "VP8X":
		width = uint32(first[4]) | uint32(first[5])<<8 | uint32(first[6])<<16 + 1
		height = uint32(first[7]) | uint32(first[8])<<8 | uint32(first[9])<<16 + 1
	}
	return width > 0 && width <= maxSide && height > 0 && height <= maxSide
}

// isICO reports whether a content is an ICO whose pictures lie within it and are of the sizes that its head names.
func isICO(content []byte) bool {
	const head, entry = 6, 16
	if len(content) < head+entry {
		return false
	}
	n := int(binary.LittleEndian.Uint16(content[4:]))
	if n == 0 || n > 32 || len(content) < head+n*entry {
		return false
	}
	for i := range n {
		e := content[head+i*entry:]
		size, at := uint64(binary.LittleEndian.Uint32(e[8:])), uint64(binary.LittleEndian.Uint32(e[12:]))
		if size < entry || at+size > uint64(len(content)) {
			return false
		}
		one := content[at : at+size]
		if bytes.HasPrefix(one, []byte("\x89PNG")) {
			if c, err := png.DecodeConfig(bytes.NewReader(one)); err != nil || c.Width > 256 || c.Height > 256 {
				return false
			}
			continue
		}
		// A bitmap's head has its width, and twice its height.
		if w, h := binary.LittleEndian.Uint32(one[4:]), binary.LittleEndian.Uint32(one[8:]); w > 256 || h > 512 {
			return false
		}
	}
	return true
}

// Elements of SVG that draw. Scripts, links, animations and what embeds other documents are not among them.
var drawing = strings.Fields("svg g defs symbol use path rect circle ellipse line polyline polygon text tspan linearGradient radialGradient stop clipPath mask " +
	"pattern title desc metadata style")

var errNoSVG = errors.New("brand: no SVG")

// checkSVG names the first thing in an SVG that does not only draw; such a picture is refused whole instead of mended, because
// what a parser of ours leaves out is not what a browser's reads. Its answer's policy is the second lock: it lets nothing run.
func checkSVG(content []byte) (what string, err error) {
	d := xml.NewDecoder(bytes.NewReader(content))
	depth, seen, copies := 0, false, 0
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
			name := t.Name.Local
			if t.Name.Space != "http://www.w3.org/2000/svg" && t.Name.Space != "" || !slices.Contains(drawing, name) {
				return "<" + name + ">", nil
			}
			if name == "use" || name == "pattern" || name == "mask" {
				if copies++; copies > maxCopies {
					return fmt.Sprintf("<%s> × %d", name, copies), nil
				}
			}
			inStyle = name == "style"
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

// Initial is the picture in a browser's tab of a brand without one: the first letter of its name.
func Initial(b Brand) Picture {
	letter, _ := utf8.DecodeRuneInString(strings.TrimSpace(b.Name))
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(string(unicode.ToUpper(letter)))) // a builder takes everything
	p := b.Light()
	return NewPicture(SVG, fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="%s"/>`+
		`<text x="16" y="23" font-family="system-ui, sans-serif" font-size="20" font-weight="700" text-anchor="middle" fill="%s">%s</text></svg>`,
		p.Accent, p.OnAccent, escaped.String()))
}

// Serve answers with a file of a brand. The caller has set Cache-Control and who may embed it.
func Serve(w http.ResponseWriter, r *http.Request, p Picture) {
	h := w.Header()
	// An SVG that is opened by itself is a document of this site.
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Type", p.Type)
	if p.Type == SVG || strings.HasPrefix(p.Type, "text/") {
		contentcoding.NewContent(p.Content).Serve(w, r)
		return
	}
	h.Set("ETag", `"`+p.Hash+`"`)
	contentcoding.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.Content))
}
