package main

import (
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
	Shell string `arg:"" help:"bash, zsh or fish." enum:"bash,zsh,fish"`
}

// completions are the scripts by shell. That of zsh works as a file of fpath and when it is sourced.
var completions = map[string]string{
	"bash": "complete -o default -o bashdefault -C stead stead\n",
	"zsh": `#compdef stead
_stead() {
  local -a found
  found=("${(@f)$(COMP_LINE="${(j: :)words[1,CURRENT]}" COMP_POINT=9999 stead 2>/dev/null)}")
  found=(${found:#})
  if (( $#found )); then compadd -a found; else _files; fi
}
if [[ "$funcstack[1]" == _stead ]]; then _stead "$@"; else compdef _stead stead; fi
`,
	"fish": `function __stead_complete
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct); and set COMP_LINE "$COMP_LINE "
    stead 2>/dev/null
end
complete -c stead -a "(__stead_complete)"
`,
}

// Run prints the script.
func (c *completionCmd) Run(e *environment) error {
	_, err := io.WriteString(e.stdout, completions[c.Shell])
	return err
}
