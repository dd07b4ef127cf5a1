// Package contenttype finds the media type of a file by its name, with the same result on every machine for the types
// of web sites.
package contenttype

import (
	"maps"
	"mime"
	"path"
	"strings"
)

// Unknown is the type of a file with an unknown extension.
const Unknown = "application/octet-stream"

var byExtension = map[string]string{
	".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8",
	".xhtml": "application/xhtml+xml; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".txt": "text/plain; charset=utf-8", ".log": "text/plain; charset=utf-8",
	".md": "text/markdown; charset=utf-8", ".csv": "text/csv; charset=utf-8",
	".ics": "text/calendar; charset=utf-8", ".vcf": "text/vcard; charset=utf-8",
	".xml": "text/xml; charset=utf-8", ".xsl": "text/xml; charset=utf-8",
	".rss": "application/rss+xml; charset=utf-8", ".atom": "application/atom+xml; charset=utf-8",
	".json": "application/json", ".map": "application/json", ".jsonld": "application/ld+json",
	".webmanifest": "application/manifest+json", ".geojson": "application/geo+json",
	".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml",
	".wasm": "application/wasm", ".pdf": "application/pdf", ".rtf": "application/rtf",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg",
	".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif", ".ico": "image/x-icon",
	".bmp": "image/bmp", ".tif": "image/tiff", ".tiff": "image/tiff", ".heic": "image/heic",
	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf",
	".eot": "application/vnd.ms-fontobject",
	".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".ogg": "audio/ogg", ".oga": "audio/ogg",
	".opus": "audio/ogg", ".wav": "audio/wav", ".flac": "audio/flac", ".weba": "audio/webm",
	".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm", ".ogv": "video/ogg",
	".mov": "video/quicktime", ".avi": "video/x-msvideo", ".mkv": "video/x-matroska",
	".m3u8": "application/vnd.apple.mpegurl", ".ts": "video/mp2t",
	".zip": "application/zip", ".gz": "application/gzip", ".tgz": "application/gzip",
	".tar": "application/x-tar", ".bz2": "application/x-bzip2", ".xz": "application/x-xz",
	".zst": "application/zstd", ".7z": "application/x-7z-compressed", ".rar": "application/vnd.rar",
	".epub": "application/epub+zip", ".jar": "application/java-archive",
	".apk":  "application/vnd.android.package-archive",
	".doc":  "application/msword",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xls":  "application/vnd.ms-excel",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".ppt":  "application/vnd.ms-powerpoint",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".odt":  "application/vnd.oasis.opendocument.text",
	".php":  "application/x-httpd-php", ".sql": "application/sql", ".sh": "application/x-sh",
}

// ByName is the media type of the file called name, with its charset when it is text.
func ByName(name string) string {
	ext := strings.ToLower(path.Ext(name))
	if t, ok := byExtension[ext]; ok {
		return t
	}
	if t := mime.TypeByExtension(ext); t != "" {
		return t
	}
	return Unknown
}

// All are the types that are the same on every machine, by the name's extension with its dot.
func All() map[string]string { return maps.Clone(byExtension) }

// Compressible reports whether content of the type usually shrinks; compressed types do not.
func Compressible(mediaType string) bool {
	t, _, _ := strings.Cut(mediaType, ";")
	switch t = strings.TrimSpace(t); t {
	case "application/json", "application/wasm", "application/yaml", "application/toml", "application/sql",
		"application/rtf", "application/x-sh", "application/vnd.ms-fontobject", "application/vnd.apple.mpegurl",
		"image/svg+xml", "image/x-icon", "image/bmp", "font/ttf", "font/otf":
		return true
	}
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+xml") || strings.HasSuffix(t, "+json")
}
