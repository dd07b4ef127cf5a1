package scans

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Paths that are asked for. What comes back is judged by its content: many sites answer everything with a page.
const (
	gitPath = "/.git/config"
	envPath = "/.env"
)

var dumpPaths = []string{"/backup.sql", "/dump.sql", "/database.sql", "/db.sql"}

func exposedGit(f Facts) Finding {
	if r := f.Probes[gitPath]; r != nil && r.Status == 200 && !isHTML(r) && strings.Contains(r.Body, "[core]") {
		return fails(Critical, 60, r.URL)
	}
	return pass("")
}

// setting is a line of an environment file.
var setting = regexp.MustCompile(`(?m)^\s*(?:export\s+)?[A-Z][A-Z0-9_]{2,}\s*=`)

func exposedEnv(f Facts) Finding {
	r := f.Probes[envPath]
	if r == nil || r.Status != 200 || isHTML(r) || strings.Contains(strings.ToLower(r.Body), "<html") || !setting.MatchString(r.Body) {
		return pass("")
	}
	return fails(Critical, 60, r.URL) // never what it says
}

// dumpHead is how dumps of databases and archives begin.
var dumpHead = regexp.MustCompile(`(?i)^\s*(?:--[^\n]*(?:dump|mysql|mariadb|postgresql|phpmyadmin|adminer)|/\*!\d{5}|PRAGMA foreign_keys|CREATE (?:TABLE|DATABASE)|DROP TABLE|INSERT INTO|PK\x03\x04|SQLite format 3|BZh)`)

// How compressed files begin; they are no text that an expression could match.
const (
	gzipHead     = "\x1f\x8b"
	sevenZipHead = "7z\xbc\xaf"
)

func exposedDump(f Facts) Finding {
	for path, r := range f.Probes {
		if path != gitPath && path != envPath && r != nil && r.Status == 200 && !isHTML(r) && (dumpHead.MatchString(r.Body) || strings.HasPrefix(r.Body, gzipHead) || strings.HasPrefix(r.Body, sevenZipHead)) {
			return fails(Critical, 60, r.URL)
		}
	}
	return pass("")
}

var listingHead = regexp.MustCompile(`(?i)<title>\s*(?:index of /|directory listing for|listing directory )|<h1>\s*(?:index of /|directory listing for)`)

func directoryListing(f Facts) Finding {
	for _, r := range f.Listings {
		if r != nil && r.Status == 200 && listingHead.MatchString(r.Body) {
			return fails(Medium, 10, r.URL)
		}
	}
	return pass("")
}

// wordpress has, for each branch of WordPress whose security is mended, the release of wordpressAt, the day of this table.
// Newer releases are not known to be bad.
var (
	wordpressAt = time.Date(2025, 9, 30, 0, 0, 0, 0, time.UTC)
	wordpress   = map[string]int{
		"6.8": 3, "6.7": 4, "6.6": 4, "6.5": 7, "6.4": 7, "6.3": 7, "6.2": 8, "6.1": 9, "6.0": 11, "5.9": 12, "5.8": 12, "5.7": 14,
		"5.6": 16, "5.5": 17, "5.4": 18, "5.3": 20, "5.2": 23, "5.1": 21, "5.0": 24, "4.9": 28, "4.8": 27, "4.7": 31,
	}
	wordpressNewest = [2]int{6, 8}
	generator       = regexp.MustCompile(`(?i)<meta[^>]+name=["']?generator["']?[^>]+content=["']WordPress (\d+\.\d+(?:\.\d+)?)`)
	wpVersion       = regexp.MustCompile(`^(\d+)\.(\d+)(?:\.(\d+))?$`)
)

// vulnerableWordPress tells whether a release has weaknesses that a later release of its branch has mended, or is of a branch
// that nobody mends; known is false for what is no version of a release.
func vulnerableWordPress(version string) (bad, known bool) {
	m := wpVersion.FindStringSubmatch(version)
	if m == nil {
		return false, false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	patch, _ := strconv.Atoi(m[3])
	if major > wordpressNewest[0] || major == wordpressNewest[0] && minor > wordpressNewest[1] {
		return false, true
	}
	least, mended := wordpress[m[1]+"."+m[2]]
	return !mended || patch < least, true
}

func cmsVersion(f Facts) Finding {
	version := ""
	if f.Site != nil {
		version = f.Site.WordPress
	}
	if version == "" && f.Page != nil {
		if m := generator.FindStringSubmatch(f.Page.Body); m != nil {
			version = m[1]
		}
	}
	if version == "" {
		return skip("no_cms")
	}
	switch bad, known := vulnerableWordPress(version); {
	case !known:
		return skip("no_cms")
	case bad:
		return fails(High, 30, fmt.Sprintf("WordPress %s (%s)", version, wordpressAt.Format(time.DateOnly)))
	default:
		return pass("WordPress " + version)
	}
}

func phpVersion(f Facts) Finding {
	switch {
	case f.Site == nil:
		return skip("not_hosted")
	case f.Site.PHPVersion == "" || f.Site.PHPEnds == nil:
		return skip("unknown")
	case f.Now.After(*f.Site.PHPEnds):
		return fails(High, 20, fmt.Sprintf("PHP %s (%s)", f.Site.PHPVersion, f.Site.PHPEnds.Format(time.DateOnly)))
	default:
		return pass("PHP " + f.Site.PHPVersion)
	}
}

func filePermissions(f Facts) Finding {
	switch {
	case f.Site == nil:
		return skip("not_hosted")
	case len(f.Site.Writable) > 0:
		return fails(High, 20, strings.Join(f.Site.Writable, ", "))
	default:
		return pass("")
	}
}
