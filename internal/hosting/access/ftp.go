package access

import (
	"path"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// ftpAccount is a row of access_ftp_accounts.
type ftpAccount struct {
	site.Item

	username string
	home     string
	quotaMB  int64 // 0: none of its own
	readOnly bool

	host        string
	port        int
	usedMB      int64
	lastLoginAt *time.Time
	createdAt   time.Time

	version string // of its password; read for the panel only
}

// PanelName implements site.Row.
func (f ftpAccount) PanelName() string { return f.username }

// ftpWish is what a customer asks for.
type ftpWish struct {
	username, home string
	quotaMB        int64
	readOnly       bool
}

// name is the part of a user name that customers choose.
var name = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// defaultHome is where FTP accounts are at home that say nothing else: the primary site.
const defaultHome = "/public_html"

// parse makes the row of a wish on a service.
func (w ftpWish) parse(on site.Site) (f ftpAccount, err error) {
	own := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(w.username)), on.Username+"_")
	if !name.MatchString(own) {
		return f, fault.Invalid("username", "access_username")
	}
	if f.home, err = cleanHome(w.home); err != nil {
		return f, err
	}
	f.username, f.quotaMB, f.readOnly = on.Username+"_"+own, w.quotaMB, w.readOnly
	return f, nil
}

// maxPath is the longest path that Linux takes.
const maxPath = 4096

// cleanHome is a path in the service's home in its canonical form. One that climbs out of it, even to come
// back, is refused; so is what the machine keeps for itself there.
func cleanHome(p string) (string, error) {
	if p == "" {
		return defaultHome, nil
	}
	if len(p) > maxPath || !utf8.ValidString(p) || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fault.Invalid("home", "access_home")
	}
	depth := 0
	for part := range strings.SplitSeq(p, "/") {
		switch {
		case part == "" || part == ".":
		case part == "..":
			depth--
		case strings.HasPrefix(part, ".stead-"):
			return "", fault.PathNotAllowed.New()
		case len(part) > 255:
			return "", fault.Invalid("home", "access_home")
		default:
			depth++
		}
		if depth < 0 {
			return "", fault.PathNotAllowed.New()
		}
	}
	clean := path.Clean("/" + p)
	switch top, _, _ := strings.Cut(clean[1:], "/"); top {
	case "logs", "tmp":
		return "", fault.PathNotAllowed.New()
	}
	return clean, nil
}

// wanted is the row in the words of the panel.
func (f ftpAccount) wanted() panel.FTPAccount {
	return panel.FTPAccount{Username: f.username, Home: f.home, QuotaMB: f.quotaMB, ReadOnly: f.readOnly, PasswordVersion: f.version}
}

// sameFTP tells whether the panel has an FTP account as it is wished.
func sameFTP(have, wish panel.FTPAccount) bool {
	return have.Home == wish.Home && have.QuotaMB == wish.QuotaMB && have.ReadOnly == wish.ReadOnly && have.PasswordVersion == wish.PasswordVersion
}
