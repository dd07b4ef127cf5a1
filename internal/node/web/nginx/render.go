package nginx

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"stead.dev/stead/internal/node/contenttype"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/port/panel"
)

var (
	//go:embed main.conf
	mainText string
	//go:embed site.conf
	siteText string

	mainTemplate = template.Must(template.New("main").Parse(mainText))
	siteTemplate = template.Must(template.New("sites").Parse(siteText))
)

// mediaTypes returns the types block and the types to compress.
func mediaTypes() (types []mediaType, compressed string) {
	byType := map[string][]string{}
	for extension, t := range contenttype.All() {
		t, _, _ = strings.Cut(t, ";")
		byType[t] = append(byType[t], strings.TrimPrefix(extension, "."))
	}
	var shrinking []string
	for t, extensions := range byType {
		slices.Sort(extensions)
		types = append(types, mediaType{t, strings.Join(extensions, " ")})
		if contenttype.Compressible(t) && t != "text/html" { // nginx always compresses that one
			shrinking = append(shrinking, t)
		}
	}
	slices.SortFunc(types, func(a, b mediaType) int { return cmp.Compare(a.Type, b.Type) })
	slices.Sort(shrinking)
	return types, strings.Join(shrinking, " ")
}

type mediaType struct{ Type, Extensions string }

// renderMain renders nginx.conf with the named files of sites.
func (s *Server) renderMain(sites ...string) ([]byte, error) {
	types, compressed := mediaTypes()
	flag, directive := s.http2()
	files, connected := ownBounds()
	var b bytes.Buffer
	err := mainTemplate.Execute(&b, map[string]any{
		"User": s.cfg.User, "Workers": s.cfg.workers(), "Connections": connected, "Files": files, "Dir": s.cfg.Dir, "ACME": s.cfg.ACME,
		"HTTP": s.cfg.HTTP, "HTTPS": s.cfg.HTTPS, "HTTP2Flag": flag, "HTTP2Directive": directive,
		"MaxBody": s.cfg.MaxUpload, "Types": types, "Compressed": compressed, "Sites": sites,
		"Adminer": s.cfg.Adminer, "OwnName": s.cfg.OwnName,
	})
	return b.Bytes(), err
}

// http2 is this nginx's syntax for HTTP/2: a flag of listen, since 1.25.1 a directive.
func (s *Server) http2() (flag, directive string) {
	if s.version.less(version{1, 25, 1}) {
		return " http2", ""
	}
	return "", "http2 on;"
}

// block is a server block.
type block struct {
	Listen                   []string
	HTTP2Directive           string
	Names                    string
	AccessLog, ErrorLog      string
	Challenges, Pages        string
	Root, From, PHP          string // quoted
	Target                   string // quoted
	Closed                   []closed
	Mail                     string // socket of the settings of mail programs; empty when none are asked for here
	Asking                   bool   // only these are asked for
	Suspended, Preview, HSTS bool
	// ReadOnly answers for programs with Page; files are served.
	ReadOnly bool
	// Page is the page of what is not served, and Retry the seconds after which it may be.
	Page  string
	Retry int
	// Forward is the address of the machine that answers; empty is this one. Proof is the file with its certificate.
	Forward, Proof string
}

// closed is a directory of the site that is closed, or that is open within one that is.
type closed struct {
	Path   string // quoted
	Denied bool
}

// Programs reports whether addresses that name no file are those of programs.
func (b block) Programs() bool { return b.PHP != "" || b.ReadOnly }

// ProofName is what the machine that answers is asked for in the handshake.
func (block) ProofName() string { return web.ProofName }

// Under is a path below the document root, quoted; it may contain variables.
func (b block) Under(path string) string { return strings.TrimSuffix(b.Root, `"`) + path + `"` }

// account renders the configuration of an account's sites. own tells whether a name that begins with "www." is a site of
// its own, whoever's.
func (s *Server) account(name string, sites []web.Site, own func(host string) bool) ([]byte, error) {
	var blocks []block
	for _, site := range sites {
		more, err := s.blocks(name, site, own)
		if err != nil {
			return nil, fmt.Errorf("site %s: %w", site.Domain, err)
		}
		blocks = append(blocks, more...)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Sites of %s; written by Stead, changes are lost.\n", name)
	err := siteTemplate.Execute(&b, map[string]any{"Servers": blocks})
	return b.Bytes(), err
}

func (s *Server) blocks(account string, site web.Site, own func(host string) bool) (_ []block, err error) {
	_, directive := s.http2()
	base := block{
		Suspended: site.Suspended, Challenges: s.file("challenges"), Pages: filepath.Join(s.cfg.Dir, "pages"),
		AccessLog: s.cfg.Logs.File(account, panel.LogAccess), ErrorLog: s.cfg.Logs.File(account, panel.LogError),
	}
	base.Page, base.Retry = ".suspended", 3600
	if site.Moving && !site.Suspended {
		base.Suspended, base.Page, base.Retry = true, ".moving", 60
	}
	if site.ReadOnly && !base.Suspended {
		base.ReadOnly, base.Page, base.Retry = true, ".moving", 60
	}
	if base.Root, err = quote(filepath.Join(site.Home, filepath.FromSlash(site.DocumentRoot))); err != nil {
		return nil, err
	}
	if base.From, err = quote("from=" + site.Home); err != nil {
		return nil, err
	}
	if site.PHP != "" {
		if base.PHP, err = quote("unix:" + site.PHP); err != nil {
			return nil, err
		}
		// nginx makes an upstream of a socket without a variable and compares each with all others when it reads its
		// configuration: a fifth of the time with a thousand sites.
		base.PHP = strings.TrimSuffix(base.PHP, `"`) + `${stead_nothing}"`
	}
	if len(site.Mail) > 0 {
		base.Mail = s.cfg.MailSettings
	}
	for _, c := range site.Closed {
		if strings.HasPrefix(c.Path, "/.well-known/acme-challenge/") {
			continue // has a location of its own, by which certificates are proven
		}
		at, err := quoteLiterally(c.Path)
		if err != nil {
			return nil, err
		}
		base.Closed = append(base.Closed, closed{at, c.Denied})
	}
	if !base.Suspended && site.RedirectTo != "" {
		if base.Target, err = target(site.RedirectTo); err != nil {
			return nil, err
		}
	}
	base.Names = strings.Join(namesOf(site, own), " ")
	plain, secure := base, base
	plain.Listen = s.cfg.HTTP
	for _, address := range s.cfg.HTTPS {
		flag, _ := s.http2()
		secure.Listen = append(secure.Listen, address+" ssl"+flag)
	}
	secure.HTTP2Directive = directive
	secure.HSTS = site.HSTS && !base.Suspended
	var blocks []block
	switch {
	case site.Forward != nil:
		plain.Forward = "http://" + site.Forward.HTTP
		blocks = append(blocks, plain)
		if secure.Forward = "https://" + site.Forward.HTTPS; len(secure.Listen) > 0 && site.Forward.HTTPS != "" {
			secure.Proof = s.file("conf", proofFile(account))
			blocks = append(blocks, secure)
		}
	case len(secure.Listen) == 0:
		blocks = append(blocks, plain)
	case site.ForceHTTPS:
		forced := plain
		if !base.Suspended && forced.Target == "" {
			forced.Target = `"https://$host$request_uri"`
		}
		blocks = append(blocks, forced, secure)
	default: // one for both: half of the text for nginx
		both := secure
		both.Listen = slices.Concat(plain.Listen, secure.Listen)
		blocks = append(blocks, both)
	}
	if base.Mail != "" {
		var names []string
		for _, domain := range site.Mail {
			for _, name := range s.cfg.MailNames(domain) {
				if !own(name) {
					names = append(names, name)
				}
			}
		}
		// Without HTTPS, for which these names have no certificate: programs that cannot have it ask without it, or are sent on.
		if len(names) > 0 {
			asking := base
			asking.Asking, asking.Listen, asking.Names, asking.HTTP2Directive = true, s.cfg.HTTP, strings.Join(names, " "), ""
			blocks = append(blocks, asking)
		}
	}
	if site.Preview != "" {
		preview := base
		preview.Preview, preview.Names = true, site.Preview
		preview.Listen = slices.Concat(plain.Listen, secure.Listen)
		preview.HTTP2Directive = secure.HTTP2Directive
		blocks = append(blocks, preview)
	}
	return blocks, nil
}

// namesOf are the names of a site, each also with "www.", unless that is a site of its own.
func namesOf(site web.Site, own func(host string) bool) []string {
	var names []string
	for _, name := range append([]string{site.Domain}, site.Aliases...) {
		names = append(names, name)
		if www := "www." + name; !own(www) {
			names = append(names, www)
		}
	}
	return names
}

// target is the argument of return: a redirect to a host gets the path and query.
func target(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("%w: redirect to %q", panel.ErrInvalid, address)
	}
	quoted, err := quote(address)
	if err == nil && u.Path == "" && u.RawQuery == "" {
		quoted = strings.TrimSuffix(quoted, `"`) + `$request_uri"`
	}
	return quoted, err
}
