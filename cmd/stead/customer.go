package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"

	"stead.dev/stead/internal/front/customer"
	"stead.dev/stead/internal/platform/clock"
	stead "stead.dev/stead/sdk/go"
	"stead.dev/stead/sdk/go/oauth"
)

// atServer is the flag of commands that work with a server as its customer.
type atServer struct {
	Server string `help:"Address of the server; by default STEAD_SERVER, else the one that you signed in to last." placeholder:"URL"`
}

func (a atServer) settings(e *environment) customer.Settings {
	return customer.Settings{Environ: e.getenv, Server: a.Server, Version: e.version, Clock: clock.System(0)}
}

// with opens a session for f.
func (a atServer) with(e *environment, f func(s *customer.Session) error) error {
	s, err := customer.Open(a.settings(e))
	if err != nil {
		return err
	}
	return f(s)
}

// siteArg is the argument of commands about one site.
type siteArg struct {
	Site string `arg:"" help:"A domain of it, its label, or its id."`
	atServer
}

// with opens a session and finds the site for f.
func (a siteArg) with(e *environment, f func(s *customer.Session, site *customer.Site) error) error {
	return a.atServer.with(e, func(s *customer.Session) error {
		site, err := s.Site(e.ctx, a.Site)
		if err != nil {
			return err
		}
		return f(s, site)
	})
}

// getenv returns a variable of the environment.
func (e *environment) getenv(name string) string {
	for _, v := range e.environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// ofServer tells what a customer's command has met; exitOK stands for an error of another kind.
func ofServer(err error) (problem, int) {
	var (
		signIn  *customer.SignInError
		wrong   *customer.UsageError
		refused *stead.Error
		denied  *oauth.Error
	)
	switch {
	case errors.As(err, &signIn):
		return problem{Error: "sign_in_required", Message: err.Error()}, exitSignIn
	case errors.As(err, &wrong):
		return problem{Error: usage, Message: err.Error()}, exitUsage
	case errors.Is(err, oauth.ErrDenied):
		return problem{Error: "access_denied", Message: "access was refused in the browser"}, exitRefused
	case errors.As(err, &denied):
		return problem{Error: denied.Key, Message: err.Error()}, exitRefused
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		return problem{Error: refused.Key, Message: refused.Message + " (stead login)"}, exitSignIn
	case errors.As(err, &refused) && refused.Status >= 400 && refused.Status < 500 && refused.Key != "":
		return problem{Error: refused.Key, Message: refused.Message, Errors: refused.Fields}, exitRefused
	}
	return problem{}, exitOK
}

type loginCmd struct {
	Device     bool `help:"Sign in by a browser on another device, such as from a server: open the page there, and enter the code."`
	TokenStdin bool `help:"Read an access token from standard input instead; it is not renewed."`
	atServer
}

// Run signs in.
func (c *loginCmd) Run(e *environment) error {
	if c.Device && c.TokenStdin {
		return usageError{errors.New("--device and --token-stdin are two ways: choose one")}
	}
	way := e.byBrowser(c.Device)
	if c.TokenStdin {
		token, err := e.readLine("token")
		if err != nil {
			return err
		}
		way = customer.ByToken(token)
	}
	who, err := customer.Login(e.ctx, c.settings(e), way)
	return e.showWho(who, err)
}

// byBrowser has the customer allow access in a browser here, or on another device.
func (e *environment) byBrowser(elsewhere bool) customer.Way {
	if elsewhere {
		return customer.ByDevice(func(d oauth.DeviceCode) error {
			_, err := fmt.Fprintf(e.stderr, "Open this page in a browser on any device:\n\n  %s\n\nand enter the code:\n\n  %s\n\n"+
				"Or open both at once: %s\n\nWaiting until you have allowed access …\n", d.Address, d.UserCode, d.Complete)
			return err
		})
	}
	return customer.ByBrowser(func(address string) error {
		_, _ = fmt.Fprintf(e.stderr, "Allow access in your browser. If it does not open, open this address:\n\n  %s\n\n", address)
		e.browse(address)
		return nil
	})
}

func (e *environment) showWho(who customer.Who, err error) error {
	if err != nil {
		return err
	}
	return e.show(who, func(w io.Writer) { row(w, fmt.Sprintf("Signed in to %s as %s", who.Server, who.Email)) })
}

// readLine reads one line of standard input, so that what is secret is in no process list and no history.
func (e *environment) readLine(what string) (string, error) {
	line, err := bufio.NewReader(e.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	if line = strings.TrimSpace(line); line == "" {
		return "", fmt.Errorf("no %s came on standard input", what)
	}
	return line, nil
}

// browse opens an address in the browser of the user's desktop, where there is one.
func (e *environment) browse(address string) {
	if e.getenv("DISPLAY") == "" && e.getenv("WAYLAND_DISPLAY") == "" && e.getenv("BROWSER") == "" {
		return
	}
	c := exec.CommandContext(e.ctx, "xdg-open", address) //nolint:gosec // an address that begins with http
	c.Env = e.environ
	if c.Start() == nil {
		go func() { _ = c.Wait() }() // a browser may live on
	}
}

type logoutCmd struct {
	Forget bool `help:"Do not ask the server to end the tokens, such as when it is gone."`
	atServer
}

// Run signs out.
func (c *logoutCmd) Run(e *environment) error {
	server, err := customer.Logout(e.ctx, c.settings(e), c.Forget)
	if err != nil {
		return err
	}
	return e.show(map[string]any{"server": server, "signed_out": true}, func(w io.Writer) { row(w, "Signed out of "+server) })
}

// tokenCmd has the commands for tokens of pipelines.
type tokenCmd struct {
	Create tokenCreate `cmd:"" help:"Make a token for a pipeline and print it: for a year it can do what stead deploy, dns, db and sites do."`
	Revoke tokenRevoke `cmd:"" help:"End such a token; it is read from standard input."`
}

type tokenCreate struct {
	Device bool `help:"Allow it in a browser on another device, as with stead login."`
	atServer
}

// Run makes a token. It is not kept here.
func (c *tokenCreate) Run(e *environment) error {
	server, token, err := customer.PipelineToken(e.ctx, c.settings(e), e.byBrowser(c.Device))
	if err != nil {
		return err
	}
	return e.show(map[string]any{"server": server, "token": token.Access, "expires_at": token.Expires}, func(w io.Writer) { row(w, token.Access) })
}

type tokenRevoke struct{ atServer }

// Run ends a token.
func (c *tokenRevoke) Run(e *environment) error {
	token, err := e.readLine("token")
	if err != nil {
		return err
	}
	server, err := customer.RevokePipelineToken(e.ctx, c.settings(e), token)
	if err != nil {
		return err
	}
	return e.show(map[string]any{"server": server, "revoked": true}, func(w io.Writer) { row(w, "revoked at "+server) })
}

type whoamiCmd struct{ atServer }

// Run says who is signed in.
func (c *whoamiCmd) Run(e *environment) error {
	return c.with(e, func(s *customer.Session) error {
		who, err := s.Who(e.ctx)
		return e.showWho(who, err)
	})
}

type openCmd struct {
	siteArg
	Panel bool `help:"Open its page of the panel instead."`
	Print bool `help:"Only print the address."`
}

// Run opens a site.
func (c *openCmd) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		address := site.URL()
		if c.Panel || address == "" {
			address = s.Server + "/panel/services/" + url.PathEscape(fmt.Sprint(site.ID))
		}
		if !c.Print {
			e.browse(address)
		}
		return e.show(map[string]any{"url": address}, func(w io.Writer) { row(w, address) })
	})
}
