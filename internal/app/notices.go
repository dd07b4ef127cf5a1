package app

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// notices prints how to use a demo, for the person who started it.
type notices struct {
	out     io.Writer
	program string
}

// show writes a box with the addresses and the login of a demo.
func (n notices) show(a *App) {
	if n.out == nil || !a.cfg.Demo {
		return
	}
	mails := ""
	if a.cfg.SMTPURL == "" {
		mails = mailDir(a.cfg)
	}
	rows := [][2]string{
		{"Shop and account", a.URL()},
		{"API reference", a.URL() + "/docs/"},
		{"Customers' sites", a.NodeURL()},
		{"Sign in as", DemoEmail},
		{"with password", DemoPassword},
		{"or as staff", DemoStaffEmail},
		{"with password", DemoStaffPassword},
		{"Mails are files in", mails},
		{"Application", DemoClientID + " (public, PKCE)"},
		{"Try the main job", cmp.Or(n.program, "stead") + " demo " + a.URL()},
		{"Stop", "Ctrl-C; the data stays in " + a.cfg.DataDir},
	}
	label, width := 0, 0
	for _, r := range rows {
		label = max(label, utf8.RuneCountInString(r[0]))
	}
	lines := make([]string, 0, len(rows))
	for _, r := range rows {
		if r[1] == "" {
			continue
		}
		line := fmt.Sprintf("%-*s  %s", label, r[0], r[1])
		width = max(width, utf8.RuneCountInString(line))
		lines = append(lines, line)
	}
	title := " " + a.cfg.CompanyName + ", a demonstration "
	var b strings.Builder
	fmt.Fprintf(&b, "\n┌─%s%s┐\n", title, strings.Repeat("─", max(0, width+1-utf8.RuneCountInString(title))))
	for _, l := range lines {
		fmt.Fprintf(&b, "│ %s%s │\n", l, strings.Repeat(" ", width-utf8.RuneCountInString(l)))
	}
	fmt.Fprintf(&b, "└%s┘\n\n", strings.Repeat("─", width+2))
	_, _ = io.WriteString(n.out, b.String()) // a closed standard output stops no server
}
