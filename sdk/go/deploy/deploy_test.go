package deploy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	stead "stead.dev/stead/sdk/go"
	"stead.dev/stead/sdk/go/deploy"
)

// site is a server that has contents.
type site struct {
	contents map[string]string
	files    map[string]string
	asked    []string // by the last plan
	extra    string   // a hash that is asked for too
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Directory string `json:"directory"`
		Delete    bool   `json:"delete"`
		Files     []struct{ Path, SHA256 string }
	}
	switch r.URL.Path {
	case "/api/v1/services/7/deploys/contents":
		form, err := r.MultipartReader()
		for err == nil {
			part, next := form.NextPart()
			if err = next; err != nil {
				break
			}
			content, _ := io.ReadAll(part)
			s.contents[part.FileName()] = string(content)
		}
		_, _ = io.WriteString(w, `{}`)
		return
	case "/api/v1/services/7/deploys/plan":
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.asked = []string{}
		for _, f := range body.Files {
			if s.contents[f.SHA256] == "" && !slices.Contains(s.asked, f.SHA256) {
				s.asked = append(s.asked, f.SHA256)
			}
		}
		if s.extra != "" {
			s.asked = append(s.asked, s.extra)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"missing": s.asked})
	case "/api/v1/services/7/deploys":
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.files = map[string]string{}
		for _, f := range body.Files {
			s.files[f.Path] = s.contents[f.SHA256]
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"id": 1})
	}
}

func TestAFolderIsSentOnce(t *testing.T) {
	s := &site{contents: map[string]string{}}
	server := httptest.NewServer(s)
	defer server.Close()
	c, err := stead.New(server.URL, stead.WithToken("t"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string]string{"index.html": "one", "css/a.css": "a", "css/b.css": "a", ".git/config": "no", ".DS_Store": "no"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	var told [2]int64
	r, err := deploy.Folder(t.Context(), c, 7, folder, deploy.Options{Progress: func(sent, all int64) { told = [2]int64{sent, all} }})
	if err != nil || r.Files != 3 || r.Bytes != 5 || r.Sent != 4 || told != [2]int64{4, 4} {
		t.Fatalf("%+v, %v, progress %v", r, err, told)
	}
	if len(s.files) != 3 || s.files["index.html"] != "one" || s.files["css/b.css"] != "a" {
		t.Errorf("the site has %v", s.files)
	}
	if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte("two!"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err = deploy.Folder(t.Context(), c, 7, folder, deploy.Options{}); err != nil || r.Sent != 4 || s.files["index.html"] != "two!" {
		t.Errorf("%+v, %v, %v", r, err, s.files)
	}

	sum := sha256.Sum256([]byte("a secret elsewhere"))
	s.extra = hex.EncodeToString(sum[:])
	if _, err := deploy.Folder(t.Context(), c, 7, folder, deploy.Options{}); err == nil {
		t.Error("a content that is not in the folder was sent")
	}
	if _, err := deploy.Folder(t.Context(), c, 7, t.TempDir(), deploy.Options{Delete: true}); err == nil {
		t.Error("an empty folder was deployed")
	}
}

// remembered are hashes that a test keeps.
type remembered map[string]string

func (r remembered) Get(name string, _ fs.FileInfo) (string, bool) {
	sum, ok := r[name]
	return sum, ok
}
func (r remembered) Put(name string, _ fs.FileInfo, sum string) { r[name] = sum }

func TestWhatIsLeftOutAndRemembered(t *testing.T) {
	s := &site{contents: map[string]string{}}
	broken := 2 // of the requests that send contents
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/contents") && broken > 0 {
			broken--
			_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 10))
			panic(http.ErrAbortHandler) // the connection breaks
		}
		s.ServeHTTP(w, r)
	}))
	defer server.Close()
	c, err := stead.New(server.URL, stead.WithToken("t"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string]string{"index.html": "one", "notes/a.txt": "no", "b.tmp": "no"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	known := remembered{}
	var planned int
	options := deploy.Options{
		DryRun: true, Hashes: known, Planned: func(r deploy.Result) { planned = r.Files },
		Skip: func(name string, directory bool) bool {
			return name == "notes" && directory || strings.HasSuffix(name, ".tmp")
		},
	}
	r, err := deploy.Folder(t.Context(), c, 7, folder, options)
	if err != nil || r.Release != nil || r.Files != 1 || planned != 1 || len(s.asked) != 1 || len(s.contents) != 0 || len(known) != 1 {
		t.Fatalf("dry run: %+v, %v; the server has %v", r, err, s.contents)
	}
	options.DryRun = false
	if r, err = deploy.Folder(t.Context(), c, 7, folder, options); err != nil || broken != 0 || r.Sent != 3 || s.files["index.html"] != "one" {
		t.Errorf("over a broken connection: %+v, %v, %v", r, err, s.files)
	}
	known["index.html"] = strings.Repeat("0", 64)
	if _, err = deploy.Folder(t.Context(), c, 7, folder, options); err != nil || s.asked[0] != known["index.html"] {
		t.Errorf("a hash that is remembered is not used: %v, %v", s.asked, err)
	}
}
