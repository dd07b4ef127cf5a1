package articles

import (
	"encoding/binary"
	"errors"
	"slices"
)

// errNotWhole is returned for pictures that end too early, or are not made as their type asks.
var errNotWhole = errors.New("articles: no whole picture")

// pngShows are the chunks that browsers need to show a PNG as it is meant (PNG, third edition, section 11), moving ones included.
// Others tell of it: texts, times, EXIF.
var pngShows = []string{
	"IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP", "mDCV", "cLLI", "bKGD", "hIST", "pHYs", "sPLT",
	"acTL", "fcTL", "fdAT",
}

// cleanPNG removes what tells of a picture and does not show it, and what lies behind its end.
func cleanPNG(content []byte) ([]byte, error) {
	const signature, around = 8, 12 // length, type and checksum are around a chunk's data
	if len(content) < signature {
		return nil, errNotWhole
	}
	clean, rest := slices.Clone(content[:signature]), content[signature:]
	for len(rest) >= around {
		end := uint64(binary.BigEndian.Uint32(rest)) + around
		if end > uint64(len(rest)) {
			break
		}
		kind := string(rest[4:8])
		if slices.Contains(pngShows, kind) {
			clean = append(clean, rest[:end]...)
		}
		if kind == "IEND" {
			return clean, nil
		}
		rest = rest[end:]
	}
	return nil, errNotWhole
}

// webpShows are the chunks of a WebP picture that show it (RFC 9649, section 2.7). Others are EXIF, XMP and what nobody knows.
var webpShows = []string{"VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF", "ICCP"}

// cleanWebP removes what tells of a picture and does not show it, and what lies behind its end.
func cleanWebP(content []byte) ([]byte, error) {
	const head, hasTold = 12, 0x08 | 0x04 // a VP8X chunk tells by its flags that there is EXIF or XMP
	little := binary.LittleEndian
	if len(content) < head {
		return nil, errNotWhole
	}
	whole := uint64(little.Uint32(content[4:])) + 8
	if whole < head || whole > uint64(len(content)) {
		return nil, errNotWhole
	}
	clean, rest := slices.Clone(content[:head]), content[head:whole]
	for len(rest) > 0 {
		if len(rest) < 8 {
			return nil, errNotWhole
		}
		length := uint64(little.Uint32(rest[4:]))
		end := 8 + length + length%2 // odd chunks are padded
		if end > uint64(len(rest)) {
			return nil, errNotWhole
		}
		kind := string(rest[:4])
		if slices.Contains(webpShows, kind) {
			at := len(clean)
			clean = append(clean, rest[:end]...)
			if kind == "VP8X" && length > 0 {
				clean[at+8] &^= hasTold
			}
		}
		rest = rest[end:]
	}
	little.PutUint32(clean[4:], uint32(len(clean)-8)) //nolint:gosec // G115: it is no longer than it was
	return clean, nil
}
