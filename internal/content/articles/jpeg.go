package articles

import (
	"bytes"
	"encoding/binary"
)

// Markers of a JPEG (ITU-T T.81, table B.1).
const (
	markerStart   = 0xd8
	markerEnd     = 0xd9
	markerScan    = 0xda
	markerApp0    = 0xe0
	markerApp15   = 0xef
	markerComment = 0xfe
)

// orientationTag is the tag of EXIF that tells which side of a photograph is up.
const orientationTag = 0x0112

var exifHead = []byte("Exif\x00\x00")

// cleanJPEG removes what tells of a photograph and does not show it: where it was taken, when and by what, its thumbnail, comments, and
// what lies behind its end. What it takes to show it stays as it is: colours, and which side is up. Its pixels are not encoded anew.
func cleanJPEG(content []byte) ([]byte, error) {
	if !bytes.HasPrefix(content, []byte{0xff, markerStart}) {
		return nil, errNotWhole
	}
	clean, rest := append([]byte{}, content[:2]...), content[2:]
	for {
		for len(rest) > 1 && rest[0] == 0xff && rest[1] == 0xff {
			rest = rest[1:] // fill bytes
		}
		if len(rest) < 2 || rest[0] != 0xff {
			return nil, errNotWhole
		}
		marker := rest[1]
		if marker == markerEnd {
			return append(clean, 0xff, markerEnd), nil
		}
		if len(rest) < 4 {
			return nil, errNotWhole
		}
		end := 2 + int(binary.BigEndian.Uint16(rest[2:]))
		if end < 4 || end > len(rest) {
			return nil, errNotWhole
		}
		data := rest[4:end]
		if marker == markerScan {
			end += scanLength(rest[end:])
		}
		switch {
		case shows(marker, data):
			clean = append(clean, rest[:end]...)
		case bytes.HasPrefix(data, exifHead):
			clean = append(clean, exifOf(orientationOf(data[len(exifHead):]))...)
		}
		rest = rest[end:]
	}
}

// shows reports whether a segment is needed to show the picture as it is meant.
func shows(marker byte, data []byte) bool {
	switch {
	case marker == markerComment:
		return false
	case marker < markerApp0 || marker > markerApp15:
		return true
	}
	return bytes.HasPrefix(data, []byte("JFIF\x00")) || bytes.HasPrefix(data, []byte("ICC_PROFILE\x00")) || bytes.HasPrefix(data, []byte("Adobe"))
}

// scanLength is how long the pixels at the beginning of b are. In them 0xff is followed by zero or is a restart marker.
func scanLength(b []byte) int {
	for i := 0; i+1 < len(b); i++ {
		if b[i] == 0xff && b[i+1] != 0 && b[i+1] != 0xff && (b[i+1] < 0xd0 || b[i+1] > 0xd7) {
			return i
		}
	}
	return len(b)
}

// orientationOf reads which side of a photograph is up (EXIF 2.3, section 4.6.4.A): 1 to 8, and 1 where that is not told.
func orientationOf(tiff []byte) uint16 {
	var order binary.ByteOrder = binary.LittleEndian
	if bytes.HasPrefix(tiff, []byte("MM")) {
		order = binary.BigEndian
	}
	if len(tiff) < 8 {
		return 1
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			break
		}
		if value := order.Uint16(entries[8:]); order.Uint16(entries) == orientationTag && value >= 1 && value <= 8 {
			return value
		}
		entries = entries[12:]
	}
	return 1
}

// exifOf is a segment that tells an orientation and nothing else; nothing for the usual one.
func exifOf(value uint16) []byte {
	if value == 1 {
		return nil
	}
	segment := append([]byte{0xff, markerApp0 + 1, 0, 34}, exifHead...)
	segment = append(segment, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0)                        // one entry
	segment = append(segment, orientationTag&0xff, orientationTag>>8, 3, 0, 1, 0, 0, 0) // one number of 16 bits
	return append(binary.LittleEndian.AppendUint16(segment, value), 0, 0, 0, 0, 0, 0)
}
