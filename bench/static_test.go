package bench

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/port/panel"
)

// BenchmarkStatic serves files of several sizes by the embedded node (site by Host, document root
// opened per request, access log, ETag, gzip) and, for comparison, by net/http's FileServer, which
// does none of that. No sockets: it is the cost of the handlers.
func BenchmarkStatic(b *testing.B) {
	n, err := node.New(b.Context(), node.Config{Dir: b.TempDir(), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = n.Close() })
	const host = "bench.example.com"
	if _, err := n.CreateAccount(b.Context(), panel.AccountSpec{Ref: "1", PrimaryDomain: host}); err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	plain := http.FileServer(http.Dir(dir))
	for _, f := range []struct {
		name string
		size int
		gzip bool
	}{
		{name: "1KB.html", size: 1 << 10},
		{name: "16KB.html", size: 16 << 10},
		{name: "16KB-compressed.html", size: 16 << 10, gzip: true},
		{name: "1MB.png", size: 1 << 20},
	} {
		text := strings.Repeat("<p>Hosting, domains and monitoring for everybody.</p>\n", f.size/54+1)[:f.size]
		if _, err := n.Files.Write(b.Context(), "1", "/public_html/"+f.name, []byte(text), panel.WriteOptions{}); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f.name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "http://"+host+"/"+f.name, nil)
		if f.gzip {
			r.Header.Set("Accept-Encoding", "gzip")
		}
		b.Run("node/"+f.name, func(b *testing.B) { serve(b, n.Handler(), r, f.size) })
		if !f.gzip {
			b.Run("fileserver/"+f.name, func(b *testing.B) { serve(b, plain, r, f.size) })
		}
	}
}

func serve(b *testing.B, h http.Handler, r *http.Request, size int) {
	w := &sink{header: http.Header{}}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		w.status, w.bytes = 0, 0
		h.ServeHTTP(w, r)
		if w.status != http.StatusOK || w.bytes == 0 {
			b.Fatal(fmt.Sprint("answered ", w.status, " with ", w.bytes, " bytes"))
		}
	}
}

// sink is a client that takes everything at once.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header    { return s.header }
func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	s.bytes += len(p)
	return len(p), nil
}
