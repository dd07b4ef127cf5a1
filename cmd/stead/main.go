// Command stead runs a hosting company: the server, its migrations, its administration; and it is what the company's customers
// deploy with. It parses the command line, calls and prints; the work is in internal/app, internal/front/admin,
// internal/front/doctor, internal/front/demo and internal/front/customer.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"stead.dev/stead/internal/node/mail"
	"stead.dev/stead/internal/node/ssh/session"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/release"
)

// Exit codes, for scripts.
const (
	exitOK      = 0
	exitFailed  = 1 // something is wrong with the installation: see the message
	exitUsage   = 2 // the command line is wrong
	exitRefused = 3 // a rule refused it: unknown id, name taken, balance too low
	exitSignIn  = 4 // a customer has to sign in first, or again
)

// cli is the command line.
type cli struct {
	Config string `help:"Configuration file; by default the one that STEAD_CONFIG names." placeholder:"FILE" type:"path"`
	JSON   bool   `name:"json" help:"Print JSON."`

	Login  loginCmd  `cmd:"" group:"customers" help:"Sign in to a server."`
	Logout logoutCmd `cmd:"" group:"customers" help:"Sign out: the server ends the tokens, and this machine forgets them."`
	Whoami whoamiCmd `cmd:"" group:"customers" help:"Say which account and server commands work with."`
	Token  tokenCmd  `cmd:"" group:"customers" help:"Tokens for pipelines that deploy."`
	Sites  sitesCmd  `cmd:"" group:"customers" help:"List your services, show one, back it up and restore it."`
	Open   openCmd   `cmd:"" group:"customers" help:"Open a site, or its page of the panel, in a browser."`
	Deploy deployCmd `cmd:"" group:"customers" help:"Make a site what a folder is; only what changed is sent."`
	Logs   logsCmd   `cmd:"" group:"customers" help:"Read a log of a site, or follow it."`
	DNS    dnsCmd    `cmd:"" name:"dns" group:"customers" help:"DNS records of a site's domain."`
	DB     dbCmd     `cmd:"" name:"db" group:"customers" help:"Databases of a site."`

	Serve    serveCmd   `cmd:"" group:"operators" help:"Run the server until it is told to stop (SIGTERM, SIGINT)."`
	Migrate  migrateCmd `cmd:"" group:"operators" help:"Bring the database up to date, or say what is missing."`
	Init     initCmd    `cmd:"" group:"operators" help:"Write the configuration of a new installation, begin it, and check it."`
	Backup   backupCmd  `cmd:"" group:"operators" help:"Back up the control plane: database, key and settings, encrypted and read back."`
	Restore  restoreCmd `cmd:"" group:"operators" help:"Restore such a backup, list them, or prove one."`
	Admin    adminCmd   `cmd:"" group:"operators" help:"Administer accounts, wallets, applications, sections, catalog and services."`
	Node     nodeCmd    `cmd:"" group:"operators" help:"Run a hosting machine of its own for a control plane elsewhere."`
	Doctor   doctorCmd  `cmd:"" group:"operators" help:"Check the installation and say what to do."`
	Settings configCmd  `cmd:"" group:"operators" name:"config" help:"Show every setting: meaning, variable, value and where it is from."`
	Demo     demoCmd    `cmd:"" group:"operators" help:"Buy and publish a web site as a client of the API at URL, and say how it went."`
	OpenAPI  openAPICmd `cmd:"" group:"operators" name:"openapi" help:"Print the OpenAPI document of the API."`

	Version    versionCmd    `cmd:"" group:"all" help:"Print the version, the commit it was built from, and the commit's date."`
	Completion completionCmd `cmd:"" group:"all" help:"Print what a shell needs to complete command lines: stead completion bash >> ~/.bashrc."`
	Manual     manualCmd     `cmd:"" group:"all" hidden:"" help:"Print the manual page."`
}

// groups say who uses which commands.
var groups = []kong.Group{
	{Key: "customers", Title: "Commands for customers of a hosting company"},
	{Key: "operators", Title: "Commands for operators"},
	{Key: "all", Title: "Commands for all"},
}

// environment is the input and output of commands.
type environment struct {
	ctx            context.Context //nolint:containedctx // a command line's one context, for all its commands
	environ        []string
	configFile     string
	json           bool
	command        string // its words, such as "admin orders refund"
	subject        string // its first argument: what it is about
	version        string
	stdin          io.Reader
	stdout, stderr io.Writer
}

func main() {
	// Before anything else: this process runs as a customer of a hosting machine, and becomes the session's program.
	if len(os.Args) > 1 && os.Args[1] == session.Word {
		_, _ = fmt.Fprintln(os.Stderr, "stead:", session.Main(os.Args[2:], os.Environ()))
		os.Exit(exitFailed)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	// Helper processes that mail servers start.
	if code, ok := mail.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, time.Now); ok {
		os.Exit(code)
	}
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var c cli
	exited := -1
	parser, err := kong.New(&c, kong.Name("stead"),
		kong.Description("Stead is a hosting company in one program. Without configuration, `stead serve --demo` is a shop to try."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}), kong.ExplicitGroups(groups),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { exited = code }))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "stead:", err)
		return exitFailed
	}
	kongcompletion.Register(parser) // answers a shell that completes a line, and ends the process
	parsed, err := parser.Parse(args)
	switch {
	case exited >= 0: // --help was printed
		return exited
	case err != nil:
		e := &environment{stderr: stderr, json: slices.Contains(args, "--json")}
		e.report(problem{Error: usage, Message: err.Error() + " (stead --help lists the commands)"})
		return exitUsage
	}
	e := &environment{
		ctx: ctx, environ: environ, configFile: c.Config, json: c.JSON, version: release.Read().Version,
		stdin: stdin, stdout: stdout, stderr: stderr,
	}
	e.command, e.subject = about(parsed)
	return e.finish(parsed.Run(e))
}

// about returns the words of a command and its first argument.
func about(parsed *kong.Context) (command, subject string) {
	var words []string
	for _, p := range parsed.Path {
		switch {
		case p.Command != nil:
			words = append(words, p.Command.Name)
		case p.Positional != nil && subject == "":
			subject = fmt.Sprint(parsed.Value(p).Interface())
		}
	}
	return strings.Join(words, " "), subject
}

// problem is an error of a command as --json prints it: the members of the API's errors.
type problem struct {
	Error   string              `json:"error"`
	Message string              `json:"message"`
	Errors  map[string][]string `json:"errors,omitempty"`
}

// report prints an error: a sentence, or with --json an object.
func (e *environment) report(p problem) {
	if e.json {
		enc := json.NewEncoder(e.stderr)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(p) // a closed standard error tells nobody anything
		return
	}
	text := p.Message
	for _, field := range slices.Sorted(maps.Keys(p.Errors)) {
		text += fmt.Sprintf(" %s: %s", field, strings.Join(p.Errors[field], " "))
	}
	if p.Error != failed && p.Error != usage {
		text = p.Error + ": " + text
	}
	_, _ = fmt.Fprintln(e.stderr, "stead:", text)
}

// Keys of errors that no rule made.
const (
	failed = "failed"
	usage  = "usage"
)

// finish prints an error as one sentence and chooses the exit code.
func (e *environment) finish(err error) int {
	var (
		refusal *fault.Error
		coded   exitError
		wrong   usageError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return int(coded)
	case errors.As(err, &wrong):
		e.report(problem{Error: usage, Message: err.Error()})
		return exitUsage
	case errors.As(err, &refusal) && refusal.Def != fault.Internal:
		e.printRefusal(refusal)
		return exitRefused
	default:
		if p, code := ofServer(err); code != exitOK {
			e.report(p)
			return code
		}
		e.report(problem{Error: failed, Message: err.Error()})
		return exitFailed
	}
}

// printRefusal prints a refusal in English.
func (e *environment) printRefusal(f *fault.Error) {
	p := problem{Error: f.Def.Key, Message: i18n.T(i18n.English, "error."+f.Def.Key, f.Fields), Errors: map[string][]string{}}
	told := f.Cause != nil && !errors.Is(f.Cause, db.ErrNoRows) && !db.IsUnique(f.Cause) // these causes say no more than the key
	switch {
	case told && (f.Def == fault.NotFound || f.Def == fault.Validation && len(f.Invalid) == 0):
		p.Message, told = f.Cause.Error(), false
	case f.Def == fault.NotFound && e.subject != "":
		words := strings.Fields(e.command) // admin, what it is about, what is done
		p.Message = fmt.Sprintf("there is no %q among the %s", e.subject, words[max(0, len(words)-2)])
	}
	for field, reasons := range f.Invalid {
		for _, r := range reasons {
			reason := r.Plain
			if r.ID != "" {
				reason = i18n.T(i18n.English, r.ID, r.Data)
			}
			p.Errors[field] = append(p.Errors[field], reason)
		}
	}
	if told {
		p.Message += fmt.Sprintf(" (%v)", f.Cause)
	}
	e.report(p)
}

// usageError is an invalid value on the command line.
type usageError struct{ error }

// readAs parses a value of the command line.
func readAs[T any](read func(string) (T, error), text string) (T, error) {
	v, err := read(text)
	if err != nil {
		err = usageError{err}
	}
	return v, err
}

// exitError ends a command that has already printed what is wrong.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// load reads the configuration with the settings given as flags.
func (e *environment) load(flags map[string]string) (config.Config, error) {
	c, err := config.Load(config.Input{File: e.configFile, Environ: e.environ, CommandLine: flags})
	if err != nil {
		return config.Config{}, fmt.Errorf("the configuration has problems:\n%w", err)
	}
	return *c, nil
}

// printJSON prints v for machines.
func (e *environment) printJSON(v any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printLine prints v on one line, for programs that read lines as they come.
func (e *environment) printLine(v any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
