package articles

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
		all = append(all, m)
	}
	return all, nil
}
