// Package setup writes the configuration of a new installation from a few answers. It is the part of `stead init` that
// makes files; the command asks, and app makes the database and the first administrator.
package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/secret"
)

// Answers are what an operator says of an installation. Empty ones are left to their defaults.
type Answers struct {
	Domain    string // where customers reach the pages, such as panel.example.com
	Company   string
	Country   string // two letters
	Support   string // mail address
	DataDir   string
	Database  string // postgres://…; empty: SQLite
	SMTP      string // smtp://…; empty: mails are files
	MailFrom  string
	ACMEEmail string // switches on certificates for customers' domains
	// Proxies are the networks of the proxy that ends TLS. Otherwise Stead does, with CertFile and KeyFile, or by OwnHTTPS with
	// certificates that it gets itself.
	Proxies           string
	CertFile, KeyFile string
	OwnHTTPS          bool
	SitesURL          string // of the embedded node
	BackupTo          string // of the control plane
}

// Written is what Write has written.
type Written struct {
	Config string `json:"config"`
	// Secrets are files beside it that hold one secret each.
	Secrets []string `json:"secrets"`
	// BackupPassphrase is the file with the generated passphrase of backups; empty without backups.
	BackupPassphrase string `json:"backup_passphrase_file,omitempty"`
}

// ErrExists refuses to change a configuration.
var ErrExists = errors.New("there is a configuration already: edit it, or name another file with --config")

// ErrBusy refuses to write a configuration beside another that is being written.
var ErrBusy = errors.New("another stead init is at work in this folder: wait until it has ended")

// Lock makes the folder of a configuration, and keeps others from writing one there until release is called. The kernel releases it
// with the process.
func Lock(file string) (release func() error, err error) {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	release, err = atomicfile.LockDir(dir)
	if errors.Is(err, atomicfile.ErrLocked) {
		err = fmt.Errorf("%s: %w", dir, ErrBusy)
	}
	return release, err
}

// line is one setting of the file. A secret is written into a file of its own.
type line struct {
	name, value, comment string
	secret               bool
}

func (a Answers) lines(passphrase string) []line {
	from := a.MailFrom
	if from == "" && a.SMTP != "" {
		from = (&mail.Address{Name: a.Company, Address: "no-reply@" + a.Domain}).String()
	}
	listen, redirect, ownHTTPS := "", "", ""
	switch {
	case a.CertFile != "":
		listen = ":443"
	case a.OwnHTTPS:
		listen, redirect, ownHTTPS = ":443", ":80", "true"
	}
	return []line{
		{name: "base_url", value: "https://" + a.Domain, comment: "Where customers reach the pages and the API."},
		{name: "listen", value: listen},
		{name: "tls_cert_file", value: a.CertFile, comment: "A renewed certificate is taken within a minute, without a restart."},
		{name: "tls_key_file", value: a.KeyFile},
		{name: "tls_acme", value: ownHTTPS, comment: "Certificates of base_url are got and renewed by Stead."},
		{name: "redirect_listen", value: redirect, comment: "Leads visitors who come by HTTP to HTTPS."},
		{name: "trusted_proxies", value: a.Proxies, comment: "The proxy that ends TLS; others' X-Forwarded-For is not believed."},
		{name: "node_url", value: a.SitesURL, comment: "Where visitors reach the sites of this machine."},
		{name: "data_dir", value: a.DataDir},
		{name: "database_url", value: a.Database, secret: true},
		{name: "company_name", value: a.Company},
		{name: "company_country", value: strings.ToUpper(a.Country), comment: "On invoices, with company_address, company_tax_number and others."},
		{name: "support_email", value: a.Support},
		{name: "smtp_url", value: a.SMTP, secret: true},
		{name: "mail_from", value: from},
		{name: "acme_email", value: a.ACMEEmail, comment: "Certificates for customers' domains; this agrees to the terms of Let's Encrypt."},
		{name: "control_backup_to", value: a.BackupTo, comment: "Where stead backup keeps its archives."},
		{name: "control_backup_passphrase", value: passphrase, secret: true},
	}
}

// Write writes the configuration file and, beside it, a file for each secret. Only their owner reads them. Nothing is
// overwritten. The folder is locked.
func Write(file string, a Answers) (w Written, err error) {
	if _, err := os.Lstat(file); err == nil {
		return w, fmt.Errorf("%s: %w", file, ErrExists)
	}
	dir := filepath.Dir(file)
	passphrase := ""
	if a.BackupTo != "" {
		passphrase = secret.Token("", 24)
	}
	w = Written{Config: file, Secrets: []string{}}
	doc := &yaml.Node{Kind: yaml.MappingNode, HeadComment: "Written by stead init. `stead config` explains every setting; `stead doctor` checks them."}
	for _, l := range a.lines(passphrase) {
		if l.value == "" {
			continue
		}
		if l.secret {
			path := filepath.Join(dir, strings.ReplaceAll(l.name, "_", "-"))
			if err := atomicfile.Create(path, []byte(l.value+"\n"), 0o600); err != nil {
				if errors.Is(err, fs.ErrExist) {
					err = fmt.Errorf("%s is there already: move it away, or remove it", path)
				}
				return w, errors.Join(err, w.remove())
			}
			w.Secrets = append(w.Secrets, path)
			if l.name == "control_backup_passphrase" {
				w.BackupPassphrase = path
			}
			l.name, l.value = l.name+"_file", path
		}
		doc.Content = append(doc.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: l.name, HeadComment: l.comment},
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: l.value})
	}
	content, err := yaml.Marshal(doc)
	if err == nil {
		err = atomicfile.Create(file, content, 0o600)
	}
	if err != nil {
		return w, errors.Join(err, w.remove())
	}
	return w, nil
}

// remove takes back what was written.
func (w Written) remove() error {
	var errs []error
	for _, path := range w.Secrets {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}

// Remove takes back a configuration that turned out to be wrong.
func (w Written) Remove() error { return errors.Join(os.Remove(w.Config), w.remove()) }

// IsRoots reports whether a file is there and belongs to root.
func IsRoots(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	return ok && is.Uid == 0
}

// Give makes a file, or a folder with all that is in it, belong to a user, such as what an administrator has made for the one
// that Stead runs as.
func Give(uid, gid int, path string) error {
	if err := os.Lchown(path, uid, gid); err != nil {
		return err
	}
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return err
	}
	// From here on it is the user's, who may put links into it.
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(name, uid, gid)
	})
}
