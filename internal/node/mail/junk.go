package mail

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// The scripts of Sieve that concern spam, and the same for all mailboxes.
const (
	scriptJunk = "junk" // delivers spam into Junk
	scriptSpam = "spam" // teaches that a message is spam
	scriptHam  = "ham"  // teaches that a message is none
)

// sieveScripts are the scripts by name. rspamd writes a star for each point of a message's score into X-Spam-Level, and
// a mailbox has the stars from which on it wants it in Junk. Spam is not answered, and what is only forwarded is not kept.
var sieveScripts = map[string]string{
	scriptJunk: `require ["fileinto", "mailbox", "environment", "vnd.dovecot.environment", "variables", "envelope", "subaddress"];
if environment :matches "vnd.dovecot.config.spam" "*" {
	set "stars" "${1}";
}
if allof(not string :is "${stars}" "", header :contains "X-Spam-Level" "${stars}") {
	if envelope :detail "to" "` + answerMark + `" {
		discard;
	} else {
		fileinto :create "Junk";
	}
	stop;
}
`,
	scriptSpam: `require ["vnd.dovecot.pipe", "copy", "imapsieve", "environment", "variables"];
if environment :matches "imap.user" "*" {
	set "user" "${1}";
}
pipe :copy "` + learnProgram + `" ["spam", "${user}"];
`,
	scriptHam: `require ["vnd.dovecot.pipe", "copy", "imapsieve", "environment", "variables"];
if environment :matches "imap.mailbox" ["Trash", "Junk"] {
	stop;
}
if environment :matches "imap.user" "*" {
	set "user" "${1}";
}
pipe :copy "` + learnProgram + `" ["ham", "${user}"];
`,
}

// learnProgram hands a message to rspamd, as spam or ham of a mailbox.
const learnProgram = "learn"

func (c Config) learnScript() string {
	return "#!/bin/sh\nexec /usr/bin/rspamc -h " + c.socket("learn") + " -d \"$2\" \"learn_$1\"\n"
}

func (c Config) sieveDir() string { return filepath.Join(c.Dir, "conf", "sieve") }
func (c Config) sieveBin() string { return filepath.Join(c.sieveDir(), "bin") }

func (c Config) sieveScript(name string) string {
	return filepath.Join(c.sieveDir(), name+script)
}

// compileScripts compiles the scripts that all mailboxes share, where they changed.
func (d *Driver) compileScripts(ctx context.Context) error {
	for name, text := range sieveScripts {
		file := d.cfg.sieveScript(name)
		done := strings.TrimSuffix(file, script) + compiled
		old, err := os.ReadFile(file)
		if _, missing := os.Stat(done); err == nil && missing == nil && string(old) == text {
			continue
		}
		if err := atomicfile.WriteOwned(file, []byte(text), 0o644, 0, 0); err != nil {
			return err
		}
		made := d.cfg.Now().Add(-time.Minute) // see putReply
		err = errors.Join(os.Chtimes(file, made, made), run(ctx, nil, "/usr/bin/sievec", "-c", d.conf("dovecot.conf"), file))
		if err == nil {
			err = os.Chmod(done, 0o644) //nolint:gosec // everybody's mail is delivered by it
		}
		if err != nil {
			return errors.Join(err, remove(file))
		}
	}
	_, err := replace(filepath.Join(d.cfg.sieveBin(), learnProgram), []byte(d.cfg.learnScript()), fs.FileMode(0o755), 0, 0)
	return err
}

// noStars is in no X-Spam-Level.
const noStars = "-"

// stars is the text in X-Spam-Level from which on a mailbox wants mail in Junk; empty is the usual one.
func stars(m panel.Mailbox) string {
	switch m.SpamThreshold {
	case panel.NoSpamFilter:
		return noStars
	case 0, junkAt:
		return ""
	}
	return strings.Repeat("*", m.SpamThreshold)
}
