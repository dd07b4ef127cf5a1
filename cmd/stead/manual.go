package main

import (
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"
	"github.com/muesli/roff"
)

// manualCmd prints the manual page, for the packages.
type manualCmd struct {
	Date time.Time `help:"Date that the page bears." required:""`
}

// Run prints the manual page.
func (c *manualCmd) Run(e *environment, k *kong.Kong) error {
	_, err := io.WriteString(e.stdout, mangokong.NewManPage(1, k.Model).Build(dated{roff.NewDocument(), c.Date}))
	return err
}

// dated gives a page a date that is not today's: a release is built from its source alone.
type dated struct {
	*roff.Document
	at time.Time
}

// Heading implements mango.Builder.
func (d dated) Heading(section uint, title, description string, _ time.Time) {
	d.Document.Heading(section, title, description, d.at)
}

// completionCmd prints what a shell needs to complete our command lines. The shell then runs this program with the line
// that is typed in COMP_LINE.
type completionCmd struct {
	Shell string `arg:"" help:"bash or zsh." enum:"bash,zsh"`
}

// Run prints the script.
func (c *completionCmd) Run(e *environment) error {
	script := "complete -o default -o bashdefault -C stead stead\n"
	if c.Shell == "zsh" {
		script = "autoload -U +X bashcompinit && bashcompinit\n" + script
	}
	_, err := fmt.Fprint(e.stdout, script)
	return err
}
