package adminer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"stead.dev/stead/internal/node/fastcgi"
	"stead.dev/stead/internal/node/web"
)

// Path is the path below which the machine's web server passes requests on to the gate.
const Path = "/.stead/adminer/"

// openPath begins visits; the token follows.
const openPath = "open/"

// cookieName is the cookie of a visit, for its path alone.
const cookieName = "stead_adminer"

const (
	mostBody   = 64 << 20  // bytes of a request; PHP's bound is the same
	mostHeader = 256 << 10 // bytes of the head of Adminer's answer
)

// handler is the gate.
func (d *Driver) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
		path, ok := strings.CutPrefix(r.URL.Path, Path)
		if !ok {
			d.page(w, http.StatusNotFound, "node.not_found")
			return
		}
		if rest, ok := strings.CutPrefix(path, openPath); ok {
			d.begin(w, r, rest)
			return
		}
		id, rest, _ := strings.Cut(path, "/")
		v, ok := d.visits.find(r.Host, id, cookies(r))
		if ok && d.stands(v) != nil {
			d.visits.leave(v)
			ok = false
		}
		switch {
		case !ok:
			d.page(w, http.StatusForbidden, "node.adminer_ended")
		case rest != "" || r.URL.Path != v.home():
			d.page(w, http.StatusNotFound, "node.not_found")
		case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
			d.page(w, http.StatusMethodNotAllowed, "node.not_allowed")
		case r.Method == http.MethodPost && !sameOrigin(r, v.address):
			d.page(w, http.StatusForbidden, "node.forbidden")
		default:
			d.ask(w, r, v)
		}
	})
}

func cookies(r *http.Request) (values []string) {
	for _, c := range r.CookiesNamed(cookieName) {
		values = append(values, c.Value)
	}
	return values
}

// home is the path of a visit.
func (v *visit) home() string { return Path + v.id + "/" }

// sameOrigin reports whether a page of the machine's own address sends the request.
func sameOrigin(r *http.Request, address string) bool {
	site := r.Header.Get("Sec-Fetch-Site") // of browsers that came by HTTPS
	return (site == "" || site == "same-origin") && strings.EqualFold(r.Header.Get("Origin"), address)
}

// begin signs a browser in that comes with a token.
func (d *Driver) begin(w http.ResponseWriter, r *http.Request, rest string) {
	if r.Method != http.MethodGet {
		d.page(w, http.StatusMethodNotAllowed, "node.not_allowed")
		return
	}
	id, token, _ := strings.Cut(rest, "/")
	v, cookie, ok := d.visits.begin(r.Host, id, token)
	if !ok {
		d.page(w, http.StatusForbidden, "node.adminer_used")
		return
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // G124: Secure wherever the machine has a certificate
		Name: cookieName, Value: cookie, Path: v.home(), MaxAge: int(visitLife.Seconds()), HttpOnly: true,
		Secure:   strings.HasPrefix(v.address, "https:"),
		SameSite: http.SameSiteLaxMode, // the browser comes from the panel, which is another site
	})
	http.Redirect(w, r, v.home(), http.StatusSeeOther) //nolint:gosec // G710: the id is the visit's own
}

// page answers with a page of the machine's own.
func (d *Driver) page(w http.ResponseWriter, status int, text string) {
	body, err := web.Page(status, text)
	if err != nil {
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the browser may be gone
}

// ask has Adminer answer a request.
func (d *Driver) ask(w http.ResponseWriter, r *http.Request, v *visit) {
	release, ok := d.asking.Acquire(v.ref)
	if !ok {
		w.Header().Set("Retry-After", "5")
		d.page(w, http.StatusTooManyRequests, "node.adminer_busy")
		return
	}
	defer release()
	if r.ContentLength > mostBody {
		d.page(w, http.StatusRequestEntityTooLarge, "node.too_large")
		return
	}
	var body io.Reader
	if r.Method == http.MethodPost {
		if r.ContentLength < 0 { // FastCGI tells programs the length first
			d.page(w, http.StatusLengthRequired, "node.not_allowed")
			return
		}
		body = io.LimitReader(r.Body, r.ContentLength)
	}
	out, err := fastcgi.Ask(r.Context(), d.socket(), d.parameters(r, v), body)
	if err != nil {
		d.cfg.Log.Error("Adminer does not answer", "error", err)
		d.page(w, http.StatusBadGateway, "node.failed")
		return
	}
	defer out.Close()
	if err := d.answer(w, r, out, v); err != nil && r.Context().Err() == nil {
		d.cfg.Log.Warn("Adminer's answer is not whole", "error", err)
	}
}

// parameters are those of FastCGI. Nothing of the browser's is among them but what is named here.
func (d *Driver) parameters(r *http.Request, v *visit) map[string]string {
	p := map[string]string{
		"GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": r.Proto, "SERVER_SOFTWARE": "stead", "SERVER_NAME": r.Host,
		"REQUEST_METHOD": r.Method, "REQUEST_URI": r.URL.RequestURI(), "QUERY_STRING": r.URL.RawQuery,
		"SCRIPT_NAME": r.URL.Path, "SCRIPT_FILENAME": d.file("www", "index.php"), "DOCUMENT_ROOT": d.file("www"),
		"REDIRECT_STATUS": "200", "REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": r.Host,
		"STEAD_ENGINE": string(v.engine), "STEAD_DATABASE": v.database, "STEAD_SECRET": v.secret, "STEAD_SESSION": v.session,
	}
	if strings.HasPrefix(v.address, "https:") {
		p["HTTPS"] = "on"
	}
	if r.Method == http.MethodPost {
		p["CONTENT_LENGTH"], p["CONTENT_TYPE"] = strconv.FormatInt(r.ContentLength, 10), r.Header.Get("Content-Type")
	}
	for name, of := range map[string]string{"HTTP_ACCEPT_LANGUAGE": "Accept-Language", "HTTP_X_REQUESTED_WITH": "X-Requested-With"} {
		if value := r.Header.Get(of); value != "" {
			p[name] = value
		}
	}
	var kept []string
	for _, c := range r.Cookies() { // what Adminer keeps of its own, such as the language
		if strings.HasPrefix(c.Name, "adminer_") {
			kept = append(kept, c.Name+"="+c.Value)
		}
	}
	if len(kept) > 0 {
		p["HTTP_COOKIE"] = strings.Join(kept, "; ")
	}
	return p
}

// passed are the headers of Adminer's answers that reach browsers as they are.
var passed = []string{"Content-Type", "Content-Disposition", "Content-Encoding", "Content-Security-Policy", "Set-Cookie", "Vary"}

// endedHeader is how index.php says that its reader has left.
const endedHeader = "Stead-Ended"

// answer passes Adminer's answer on.
func (d *Driver) answer(w http.ResponseWriter, r *http.Request, out io.Reader, v *visit) error {
	limited := &io.LimitedReader{R: out, N: mostHeader}
	read := bufio.NewReader(limited)
	head, err := textproto.NewReader(read).ReadMIMEHeader()
	if err != nil {
		d.page(w, http.StatusBadGateway, "node.failed")
		return fmt.Errorf("adminer: %w", err)
	}
	limited.N = 1<<63 - 1
	if head.Get(endedHeader) != "" {
		d.visits.leave(v)
		d.page(w, http.StatusOK, "node.adminer_left")
		return nil
	}
	status := http.StatusOK
	if text, _, _ := strings.Cut(head.Get("Status"), " "); text != "" {
		if status, err = strconv.Atoi(text); err != nil || status < 200 || status > 599 {
			status = http.StatusBadGateway
		}
	}
	h := w.Header()
	for _, name := range passed {
		if values := head.Values(name); len(values) > 0 {
			h[name] = values
		}
	}
	if to := head.Get("Location"); to != "" {
		// Within the visit, whatever it says.
		if u, err := url.Parse(to); err == nil && u.Host == "" && u.Scheme == "" {
			h.Set("Location", v.home()+query(u))
		}
		if status == http.StatusOK {
			status = http.StatusFound
		}
	}
	if r.URL.Query().Has("file") && status == http.StatusOK { // its scripts and styles, of which the version is in the address
		h.Set("Cache-Control", "private, max-age=3600")
	}
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return nil
	}
	_, err = io.Copy(flushing{w, http.NewResponseController(w)}, read)
	return err
}

func query(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

// flushing sends at once what is written: a long statement shows how far it is.
type flushing struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	return n, errors.Join(err, f.c.Flush())
}

// listen listens on a socket that a group may use.
func listen(ctx context.Context, file string, gid int) (net.Listener, error) {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) { // of a process that was killed
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", file)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chown(file, os.Getuid(), gid), os.Chmod(file, 0o660)); err != nil { //nolint:gosec // G302: of that group
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Gate is the socket to which the machine's web server passes on what is asked for below Path.
func Gate(dir string) string { return filepath.Join(dir, "gate", "gate.sock") }
