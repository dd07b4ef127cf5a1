package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"stead.dev/stead/internal/app"
	"stead.dev/stead/internal/front/doctor"
	"stead.dev/stead/internal/front/setup"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/config"
)

// defaultConfig is where the packages' units look for the configuration.
const defaultConfig = "/etc/stead/stead.yaml"

type initCmd struct {
	Domain   string `help:"Where customers reach the pages, such as panel.example.com."`
	Company  string `help:"Name of the company, on pages and in mails."`
	Country  string `help:"Its country, two letters such as UZ."`
	Support  string `help:"Address where customers find help."`
	Admin    string `help:"Mail address of the first administrator."`
	DataDir  string `help:"Folder of the data." default:"/var/lib/stead"`
	Database string `help:"postgres://…; without it, SQLite in the data directory." env:"STEAD_DATABASE_URL"`
	SMTP     string `name:"smtp" help:"smtp://user:password@host:587; without it, mails are files in the data directory." env:"STEAD_SMTP_URL"`
	MailFrom string `help:"Sender of mails; by default no-reply@ the domain."`
	ACME     string `name:"acme" help:"Address that the certificate authority writes to: switches on certificates for customers' domains."`
	Proxy    string `help:"Networks of the proxy that ends TLS, such as 127.0.0.1; none: Stead serves HTTPS itself, with certificates that it gets from Let's Encrypt."`
	TLSCert  string `name:"tls-cert" help:"File with the certificate chain of the domain, where there is no proxy." type:"existingfile"`
	TLSKey   string `name:"tls-key" help:"File with its private key." type:"existingfile"`
	SitesURL string `name:"sites-url" help:"Where visitors reach the sites of this machine."`
	BackupTo string `help:"Where stead backup keeps its archives; a passphrase is generated."`
	User     string `help:"User that Stead runs as, to whom the files are given when root runs this." default:"stead"`
	Yes      bool   `help:"Ask nothing: what has no flag keeps its default."`
}

// question is one that is asked where there is a terminal.
type question struct {
	into            *string
	flag            string
	text, otherwise string
	required        bool
}

// Run writes the configuration, begins the installation and examines it.
func (c *initCmd) Run(e *environment) (err error) {
	file := cmp.Or(e.configFile, defaultConfig)
	if err := c.ask(e); err != nil {
		return err
	}
	if _, ok := account.NormalizeEmail(c.Admin); !ok {
		return usageError{fmt.Errorf("--admin: %q is not a mail address", c.Admin)}
	}
	if c.Proxy == "" && c.TLSCert == "" {
		c.Proxy = "127.0.0.1"
	}
	ownHTTPS := c.Proxy == "none"
	if ownHTTPS {
		c.Proxy = ""
	}
	if ownHTTPS && (c.ACME == "" || c.TLSCert != "") {
		return usageError{errors.New("--proxy none needs --acme, the address that the certificate authority writes to, and no --tls-cert")}
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return usageError{errors.New("--tls-cert and --tls-key belong together")}
	}
	dataDir, err := filepath.Abs(c.DataDir)
	if err != nil {
		return err
	}
	release, err := setup.Lock(file)
	if err != nil {
		return err
	}
	defer func() {
		if left := release(); err == nil {
			err = left
		}
	}()
	written, err := setup.Write(file, setup.Answers{
		Domain: c.Domain, Company: c.Company, Country: c.Country, Support: c.Support, DataDir: dataDir, Database: c.Database, SMTP: c.SMTP,
		MailFrom: c.MailFrom, ACMEEmail: c.ACME, OwnHTTPS: ownHTTPS, Proxies: c.Proxy, CertFile: c.TLSCert, KeyFile: c.TLSKey, SitesURL: c.SitesURL, BackupTo: c.BackupTo,
	})
	if err != nil {
		return err
	}
	cfg, err := config.Load(config.Input{File: file})
	if err != nil {
		return errors.Join(fmt.Errorf("nothing was written, because the answers make no configuration:\n%w", err), written.Remove())
	}
	link, err := e.begin(*cfg, c.Admin)
	if err != nil {
		// The next attempt goes on with the data directory.
		return errors.Join(fmt.Errorf("the installation could not be begun, so no configuration was kept: %w", err), written.Remove(), c.give(e, dataDir))
	}
	if err := c.give(e, dataDir, append(written.Secrets, written.Config)...); err != nil {
		return err
	}
	report := app.Examine(e.ctx, *cfg, e.version)
	result := map[string]any{"written": written, "administrator": c.Admin, "link": link, "doctor": report}
	err = e.show(result, func(w io.Writer) {
		_ = report.Write(w)
		row(w)
		row(w, "written", written.Config)
		for _, s := range written.Secrets {
			row(w, "secret in", s)
		}
		if written.BackupPassphrase != "" {
			row(w, "KEEP A COPY", "of "+written.BackupPassphrase+" elsewhere: without it no backup can be opened")
		}
		row(w, "start", "stead --config "+file+" serve   (with the package: systemctl enable --now stead)")
		row(w, "first sign-in", link+"   (once, within an hour: sets the password of "+c.Admin+")")
	})
	if err == nil && report.Worst == doctor.Fail {
		return exitError(exitFailed)
	}
	return err
}

// ask asks for what no flag says, on a terminal; elsewhere what is required and missing is an error.
func (c *initCmd) ask(e *environment) error {
	in := bufio.NewReader(e.stdin)
	asking := !c.Yes && e.terminal()
	var missing []string
	for _, q := range []question{
		{&c.Domain, "--domain", "Domain of the panel, such as panel.example.com", "", true},
		{&c.Company, "--company", "Name of the company", "", true},
		{&c.Admin, "--admin", "Mail address of the first administrator", "", true},
		{&c.Country, "--country", "Country, two letters", "none", false},
		{&c.Support, "--support", "Address where customers find help", "none", false},
		{&c.Database, "--database", "PostgreSQL, as postgres://user:password@host/database", "SQLite", false},
		{&c.SMTP, "--smtp", "Mail server, as smtp://user:password@host:587", "mails become files", false},
		{&c.ACME, "--acme", "Address for Let's Encrypt, for customers' domains", "no certificates", false},
		{&c.Proxy, "--proxy", "Address of the proxy that ends TLS, or none for HTTPS by Stead itself", "127.0.0.1", false},
		{&c.BackupTo, "--backup-to", "Where backups go: a folder or s3:https://…", "none for now", false},
	} {
		if q.into == &c.Proxy && c.TLSCert != "" {
			continue
		}
		for asking && *q.into == "" {
			_, _ = fmt.Fprintf(e.stdout, "%s [%s]: ", q.text, cmp.Or(q.otherwise, "required"))
			answer, err := in.ReadString('\n')
			if err != nil {
				return fmt.Errorf("read the answer: %w", err)
			}
			if *q.into = strings.TrimSpace(answer); !q.required {
				break
			}
		}
		if q.required && *q.into == "" {
			missing = append(missing, q.flag)
		}
	}
	if len(missing) > 0 {
		return usageError{fmt.Errorf("nobody can be asked here, so these flags are needed: %s", strings.Join(missing, ", "))}
	}
	return nil
}

// begin makes the database and the first administrator, and returns the link for the password.
func (e *environment) begin(cfg config.Config, email string) (link string, err error) {
	if _, err := app.Migrate(e.ctx, cfg); err != nil {
		return "", err
	}
	a, done, err := app.Administer(e.ctx, cfg, e.version)
	if err != nil {
		return "", err
	}
	ctx := auth.WithActor(e.ctx, auth.Actor{Name: operator(), Via: auth.ViaCommand})
	link, err = a.FirstAdministrator(ctx, email)
	return link, errors.Join(err, done())
}

// give makes what root has made belong to the user that Stead runs as: files, and what is root's in the data directory, by this
// attempt or by one before that failed.
func (c *initCmd) give(e *environment, dataDir string, files ...string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup(c.User)
	if err != nil {
		_, _ = fmt.Fprintf(e.stderr, "there is no user %s here, so everything stays root's: %v\n", c.User, err)
		return nil
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return err
	}
	entries, err := os.ReadDir(dataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		// The machine's own folder has accounts' homes, which have owners of their own.
		if path := filepath.Join(dataDir, entry.Name()); entry.Name() != "node" && setup.IsRoots(path) {
			files = append(files, path)
		}
	}
	for _, path := range files {
		if err := setup.Give(uid, gid, path); err != nil {
			return err
		}
	}
	if setup.IsRoots(dataDir) {
		return os.Lchown(dataDir, uid, gid)
	}
	return nil
}
