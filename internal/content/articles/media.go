package articles

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"image"
	_ "image/gif"  // their sizes are read
	_ "image/jpeg" // as of pictures
	_ "image/png"  // of articles
	"io/fs"
	"path"
	"strings"
)

// Media is a picture of articles.
type Media struct {
	Name    string // of its file, such as dns-records.png
	Content []byte

	source source
}

// mediaTypes are the types of pictures by extension, and what a file of the type begins with. Only these are served, and
// never as anything else.
var mediaTypes = map[string]struct {
	contentType string
	begins      []string
}{
	".png":  {"image/png", []string{"\x89PNG\r\n\x1a\n"}},
	".jpg":  {"image/jpeg", []string{"\xff\xd8\xff"}},
	".jpeg": {"image/jpeg", []string{"\xff\xd8\xff"}},
	".gif":  {"image/gif", []string{"GIF87a", "GIF89a"}},
	".webp": {"image/webp", []string{"RIFF"}},
	".svg":  {"image/svg+xml", []string{"<svg", "<?xml"}},
}

// maxMedia bounds a picture, in bytes.
const maxMedia = 2 << 20

// ContentType is what the picture is served as; empty for a name that no picture can have.
func (m Media) ContentType() string { return mediaTypes[path.Ext(m.Name)].contentType }

// Hash identifies the picture's content.
func (m Media) Hash() string {
	sum := sha256.Sum256(m.Content)
	return hex.EncodeToString(sum[:16])
}

// size is how large a picture is, in pixels; zero when that is not known.
type size struct{ width, height int }

// size reads the picture's size from its head.
func (m Media) size() size {
	if path.Ext(m.Name) == ".webp" {
		return webpSize(m.Content)
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(m.Content))
	if err != nil {
		return size{} // a drawing, or a picture that no browser shows either
	}
	return size{config.Width, config.Height}
}

// webpSize reads the size of a WebP picture (RFC 9649, sections 2.4 to 2.7): its first chunk tells which of the three forms it has.
func webpSize(content []byte) size {
	if len(content) < 30 {
		return size{}
	}
	little := binary.LittleEndian
	switch string(content[12:16]) {
	case "VP8 ":
		return size{int(little.Uint16(content[26:]) & 0x3fff), int(little.Uint16(content[28:]) & 0x3fff)}
	case "VP8L":
		bits := little.Uint32(content[21:])
		return size{int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1}
	case "VP8X":
		return size{int(little.Uint32(content[24:])&0xffffff) + 1, int(little.Uint32(content[26:])>>8) + 1}
	}
	return size{}
}

// checkMedia says what is wrong with a picture; empty: nothing.
func checkMedia(m Media) string {
	ext := path.Ext(m.Name)
	known, ok := mediaTypes[ext]
	switch {
	case !ok:
		return "pictures are png, jpg, jpeg, gif, webp or svg"
	case !slugForm.MatchString(strings.TrimSuffix(m.Name, ext)) || len(m.Name) > maxSlug:
		return "the name of a picture is of small Latin letters, digits and single hyphens"
	}
	content := bytes.TrimLeft(m.Content, " \t\r\n")
	for _, begin := range known.begins {
		if bytes.HasPrefix(content, []byte(begin)) && (ext != ".webp" || len(content) > 12 && string(content[8:12]) == "WEBP") {
			return ""
		}
	}
	return "its content is not what its name says"
}

// cleaned is the picture without what tells of it and does not show it: where it was taken, when and by what. GIFs and drawings, which no
// camera makes, stay as they are.
func (m Media) cleaned() (Media, error) {
	var err error
	switch m.ContentType() {
	case "image/jpeg":
		m.Content, err = cleanJPEG(m.Content)
	case "image/png":
		m.Content, err = cleanPNG(m.Content)
	case "image/webp":
		m.Content, err = cleanWebP(m.Content)
	}
	return m, err
}

// readMedia reads the pictures of a directory.
func readMedia(fsys fs.FS, problems *Problems) (all []Media, err error) {
	names, err := namesIn(fsys, "media")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		content, err := readBounded(fsys, name, maxMedia)
		if err != nil {
			problems.add(name, 0, "%v", err)
			continue
		}
		m := Media{Name: path.Base(name), Content: content}
		if text := checkMedia(m); text != "" {
			problems.add(name, 0, "%s", text)
			continue
		}
		if m, err = m.cleaned(); err != nil {
			problems.add(name, 0, "it is no whole picture")
			continue
		}
		all = append(all, m)
	}
	return all, nil
}
