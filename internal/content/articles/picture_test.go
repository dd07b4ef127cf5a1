package articles

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"reflect"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
)

func drawn(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAPictureIsUploadedShownAndRemoved(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		ctx, s := t.Context(), newService(d, clk)
		p, err := s.AddPicture(ctx, "watch.png", drawn(t, 40, 20))
		if err != nil || p.Width != 40 || p.Height != 20 {
			t.Fatalf("%+v, %v", p, err)
		}
		if m, err := s.Picture(ctx, "watch.png"); err != nil || m.ContentType() != "image/png" {
			t.Errorf("%+v, %v", m, err)
		}
		for name, c := range map[string]struct {
			name    string
			content []byte
			field   string
		}{
			"one that is there":    {"watch.png", drawn(t, 1, 1), "name"},
			"a path":               {"../watch.png", drawn(t, 1, 1), "name"},
			"no name":              {".png", drawn(t, 1, 1), "name"},
			"a page as a picture":  {"a.png", []byte("<!doctype html><script>alert(1)</script>"), "content"},
			"only the head of one": {"a.png", []byte("\x89PNG\r\n\x1a\n<script>alert(1)</script>"), "content"},
			"another type":         {"a.jpg", drawn(t, 1, 1), "content"},
			"a drawing":            {"a.svg", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "content"},
			"a page by its name":   {"a.html", drawn(t, 1, 1), "content"},
			"one that is too wide": {"a.png", drawn(t, maxPictureSide+1, 1), "content"},
			"too much":             {"a.png", append(drawn(t, 1, 1), make([]byte, maxMedia)...), "content"},
		} {
			if _, err := s.AddPicture(ctx, c.name, c.content); fault.From(err).Invalid[c.field] == nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		draft := Draft{Kind: Help, Slug: "watch", Language: "en", Category: "email", Text: Text{
			Title: "A watch", Description: "One by one.", Body: "![A watch](/media/watch.png)\n",
		}}
		made, err := s.Create(ctx, draft)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.RemovePicture(ctx, "watch.png"); !errors.Is(err, errShown) {
			t.Errorf("one that a draft shows is removed: %v", err)
		}
		if err := s.Remove(ctx, made.ID, "en"); err != nil {
			t.Fatal(err)
		}
		if err := s.RemovePicture(ctx, "watch.png"); err != nil {
			t.Error(err)
		}
		if all, err := s.Pictures(ctx); err != nil || len(all) != 0 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// photograph is a JPEG as a camera writes it, and its pixels.
func photograph(t *testing.T, order binary.AppendByteOrder, orientation uint16) (content []byte, pixels image.Image) {
	t.Helper()
	drawing := image.NewRGBA(image.Rect(0, 0, 48, 32))
	for i := range drawing.Pix {
		drawing.Pix[i] = byte(i * 7)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, drawing, nil); err != nil {
		t.Fatal(err)
	}
	pixels, err := jpeg.Decode(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	mark := "II"
	if order == binary.BigEndian {
		mark = "MM"
	}
	exif := order.AppendUint32(order.AppendUint16([]byte("Exif\x00\x00"+mark), 42), 8)
	exif = order.AppendUint16(exif, 2)
	exif = append(order.AppendUint32(order.AppendUint16(order.AppendUint16(exif, 0x010f), 2), 4), "cam\x00"...) // who made the camera
	exif = order.AppendUint32(order.AppendUint16(order.AppendUint16(exif, 0x0112), 3), 1)
	exif = append(order.AppendUint16(exif, orientation), 0, 0, 0, 0, 0, 0)
	exif = append(exif, "secret place"...)
	content = append(content, b.Bytes()[:2]...)
	for _, s := range []struct {
		marker byte
		data   string
	}{
		{0xe1, string(exif)},
		{0xe1, "http://ns.adobe.com/xap/1.0/\x00secret place"},
		{0xed, "Photoshop 3.0\x00secret place"},
		{0xe2, "MPF\x00secret place"},
		{0xe2, "ICC_PROFILE\x00\x01\x01colours"},
		{0xfe, "secret place"},
	} {
		content = binary.BigEndian.AppendUint16(append(content, 0xff, s.marker), uint16(len(s.data)+2))
		content = append(content, s.data...)
	}
	content = append(content, b.Bytes()[2:]...)
	return append(content, "secret place"...), pixels // such as a film behind the photograph
}

func TestAPhotographIsKeptWithoutWhereItWasTaken(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		ctx, s := t.Context(), newService(d, clk)
		for name, c := range map[string]struct {
			order       binary.AppendByteOrder
			orientation uint16
		}{"a.jpg": {binary.LittleEndian, 6}, "b.jpeg": {binary.BigEndian, 8}, "c.jpg": {binary.BigEndian, 1}, "d.jpg": {binary.LittleEndian, 99}} {
			content, pixels := photograph(t, c.order, c.orientation)
			p, err := s.AddPicture(ctx, name, content)
			if err != nil {
				t.Fatal(err)
			}
			m, err := s.Picture(ctx, name)
			if err != nil || int64(len(m.Content)) != p.Bytes {
				t.Fatalf("%s: %d bytes of %+v, %v", name, len(m.Content), p, err)
			}
			if bytes.Contains(m.Content, []byte("secret place")) || bytes.Contains(m.Content, []byte("cam")) || !bytes.Contains(m.Content, []byte("colours")) {
				t.Errorf("%s is kept as %q", name, m.Content)
			}
			if shown, err := jpeg.Decode(bytes.NewReader(m.Content)); err != nil || !reflect.DeepEqual(shown, pixels) {
				t.Errorf("%s has other pixels, %v", name, err)
			}
			up := uint16(1)
			if _, exif, there := bytes.Cut(m.Content, exifHead); there {
				up = orientationOf(exif)
			}
			if want := c.orientation; up != want && want <= 8 || up != 1 && want > 8 {
				t.Errorf("%s: side %d is up instead of %d", name, up, want)
			}
			again, err := cleanJPEG(m.Content)
			if err != nil || !bytes.Equal(again, m.Content) {
				t.Errorf("%s is changed again, %v", name, err)
			}
			for n := range content[:len(content)-len("secret place")] {
				if _, err := cleanJPEG(content[:n]); err == nil {
					t.Fatalf("%s: its first %d bytes are a picture", name, n)
				}
			}
		}
	})
}

// told are a PNG and a WebP picture with what programs write beside what they show, and the same without it.
func told(t *testing.T) map[string][2][]byte {
	t.Helper()
	chunk := func(kind, data string) string {
		length := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
		return string(length) + kind + data + string(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(kind+data))))
	}
	plain := string(drawn(t, 40, 20))
	head := len("\x89PNG\r\n\x1a\n") + len(chunk("IHDR", strings.Repeat(" ", 13)))
	shows := chunk("gAMA", "\x00\x00\xb1\x8f")
	tells := chunk("tEXt", "Comment\x00secret place") + chunk("eXIf", "MM\x00*secret place") + chunk("tIME", "\x07\xea\x0b\x1c\x00\x00\x00") + chunk("prVt", "secret place")
	part := func(kind, data string) string {
		return kind + string(binary.LittleEndian.AppendUint32(nil, uint32(len(data)))) + data + strings.Repeat("\x00", len(data)%2)
	}
	riff := func(parts string) string {
		return "RIFF" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(parts)+4))) + "WEBP" + parts
	}
	extended := func(flags string) string { return part("VP8X", flags+"\x00\x00\x00\x27\x00\x00\x13\x00\x00") }
	pixels := part("ICCP", "colours") + part("VP8L", "\x2f\x27\xc0\x04\x00odd")
	return map[string][2][]byte{
		"a.png": {
			[]byte(plain[:head] + shows + tells + plain[head:] + "secret place"),
			[]byte(plain[:head] + shows + plain[head:]),
		},
		"a.webp": {
			[]byte(riff(extended("\x2c")+pixels+part("EXIF", "secret place")+part("XMP ", "secret place")) + "secret place"),
			[]byte(riff(extended("\x20") + pixels)),
		},
	}
}

func TestAPictureIsKeptWithoutWhatIsToldOfIt(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		ctx, s := t.Context(), newService(d, clk)
		for name, c := range told(t) {
			p, err := s.AddPicture(ctx, name, c[0])
			if err != nil || p.Width != 40 || p.Height != 20 || p.Bytes != int64(len(c[1])) {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
			if m, err := s.Picture(ctx, name); err != nil || !bytes.Equal(m.Content, c[1]) {
				t.Errorf("%s is kept as %q, %v", name, m.Content, err)
			}
			for n := range len(c[0]) - len("secret place") {
				if _, err := (Media{Name: name, Content: c[0][:n]}).cleaned(); err == nil {
					t.Fatalf("%s: its first %d bytes are a picture", name, n)
				}
			}
		}
		if _, err := png.Decode(bytes.NewReader(told(t)["a.png"][1])); err != nil {
			t.Error(err)
		}
	})
}
