package mail

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// rspamdUser runs the processes of rspamd and of its Redis; its package makes it.
const rspamdUser = "_rspamd"

// rspamdCache is where rspamd keeps its patterns compiled: it takes half a minute to compile them. It is the directory
// of its package, because the files are named for their content, and serve every instance.
const rspamdCache = "/var/lib/rspamd"

// rspamdRules are the rules of this machine: who may write as whom, and by which key it is signed.
//
//go:embed rspamd.lua
var rspamdRules string

// Points of a message's score. Postfix refuses it from refuseAt on; suspicious mail of a server that was not seen before
// has to come again after greylistFor.
const (
	refuseAt    = panel.MaxSpamThreshold + 1
	junkAt      = 6 // of mailboxes that do not say otherwise
	greylistAt  = 4
	greylistFor = 5 * time.Minute
	// learnsFirst is how many messages of each kind a mailbox's filter has learned before it is asked.
	learnsFirst = 20
)

// rspamd is rspamd.conf. It includes what Debian ships, with the files of rspamdModules as the local settings.
func (c Config) rspamd() string {
	suffixes := "${SHAREDIR}/effective_tld_names.dat"
	if c.suffixes != "" {
		suffixes = c.suffixes
	}
	resolver := ""
	if c.dns != "" {
		resolver = fmt.Sprintf("\n    nameserver = [%q];\n    retransmits = 1;", c.dns)
	}
	return fmt.Sprintf(`# Written by stead; changes are lost.
.include "${CONFDIR}/common.conf"
options {
  filters = "chartable,dkim,regexp";
  pidfile = "%s";
  control_socket = "%s mode=0600";
  hs_cache_dir = "%s";
  tempdir = "/tmp";
  url_tld = "%s";
  explicit_modules = ["settings"];
  local_addrs = [];
  task_timeout = 20s;
  dns {
    timeout = 1s;
    sockets = 16;%s
  }
}
logging {
  type = "console";
  level = "warning";
}
worker "rspamd_proxy" {
  bind_socket = "%s mode=0660 owner=%s group=postfix";
  milter = yes;
  timeout = 60s;
  count = 2;
  upstream "local" {
    default = yes;
    self_scan = yes;
  }
}
# Dovecot hands it what people move into Junk and out of it, as their users with the group of the store.
worker "controller" {
  bind_socket = "%s mode=0660 owner=%s group=%s";
  count = 1;
}
lua = "%s";
stead {
  logins = "%s";
  keys = "%s";
}
settings {
  # What customers send is theirs: it is checked for its sender and for viruses, and signed.
  submission {
    priority = 10;
    authenticated = true;
    apply {
      symbols_enabled = ["STEAD_FROM", "DKIM_SIGNED", "STEAD_VIRUS", "STEAD_VIRUS_FAIL"];
    }
  }
}
`, c.rspamdPID(), filepath.Join(c.Dir, "run", "rspamd.sock"), rspamdCache, suffixes, resolver, c.milter(), rspamdUser,
		c.socket("learn"), rspamdUser, storeGroup, c.rspamdRulesFile(), c.loginsDir(), c.keysDir())
}

// rspamdModules are the settings of rspamd's modules that differ from Debian's, by name.
func (c Config) rspamdModules() map[string]string {
	wait := greylistFor
	if c.hasty {
		wait = time.Second
	}
	all := map[string]string{
		"actions": fmt.Sprintf("reject = %d;\nadd_header = %d;\ngreylist = %d;\n", refuseAt, junkAt, greylistAt),
		"redis":   fmt.Sprintf("servers = %q;\n", c.redisSocket()),
		// Everybody's filter learns from their own mail: nobody teaches their neighbours'.
		"classifier-bayes": fmt.Sprintf("min_learns = %d;\nautolearn = true;\nper_user = \"return function(task) return task:get_principal_recipient() end\";\n", learnsFirst),
		"greylist":         fmt.Sprintf("timeout = %ds;\nmessage = \"Try again later\";\n", int(wait.Seconds())),
		"dkim_signing":     "sign_condition = \"return function(task) return stead.dkim(task) end\";\n",
		// What is forwarded keeps what was found out about its sender (RFC 8617).
		"arc": "sign_condition = \"return function(task) return stead.arc(task) end\";\n",
		"milter_headers": `use = ["authentication-results", "x-spam-level", "remove-headers"];
skip_authenticated = true;
skip_local = false;
routines {
  authentication-results {
    remove = 0;
  }
  remove-headers {
    headers {
      "X-Spam-Level" = 0;
    }
  }
}
`,
	}
	// What asks services of others for each message is the operator's decision, and needs contracts with some of them.
	for _, name := range []string{"rbl", "surbl", "phishing", "fuzzy_check", "neural", "mx_check", "asn", "bimi", "url_redirector", "rspamd_update"} {
		all[name] = "enabled = false;\n"
	}
	all["antivirus"], all["force_actions"] = "enabled = false;\n", "enabled = false;\n"
	if c.ClamAV != "" {
		all["antivirus"] = fmt.Sprintf(`stead {
  type = "clamav";
  servers = "%s";
  symbol = "STEAD_VIRUS";
  action = "reject";
  message = "The message has a virus";
  scan_mime_parts = false;
  log_clean = false;
  timeout = 15s;
}
`, c.ClamAV)
		all["force_actions"] = `rules {
  STEAD_UNSCANNED {
    action = "soft reject";
    expression = "STEAD_VIRUS_FAIL";
    message = "The message cannot be scanned now, try again later";
  }
}
`
	}
	return all
}

// redis is redis.conf. What rspamd remembers there may be lost: senders come again, and filters learn again.
func (c Config) redis() string {
	return fmt.Sprintf(`# Written by stead; changes are lost.
port 0
unixsocket %s
unixsocketperm 700
dir %s
save 300 1
stop-writes-on-bgsave-error no
maxmemory 256mb
maxmemory-policy volatile-ttl
daemonize no
`, c.redisSocket(), c.redisDir())
}

func (c Config) redisDir() string    { return filepath.Join(c.Dir, "redis") }
func (c Config) redisSocket() string { return filepath.Join(c.redisDir(), "s") }

// rspamdVariables are the places where rspamd's own configuration looks for ours, and puts its files.
func (c Config) rspamdVariables() []string {
	return []string{"--var=LOCAL_CONFDIR=" + c.rspamdLocal(), "--var=DBDIR=" + c.rspamdState()}
}

func (c Config) rspamdLocal() string { return filepath.Join(c.Dir, "conf", "rspamd") }
func (c Config) rspamdState() string { return filepath.Join(c.Dir, "rspamd") }

// milter is the socket at which Postfix asks rspamd.
func (c Config) milter() string          { return c.socket("milter") }
func (c Config) rspamdPID() string       { return filepath.Join(c.Dir, "run", "rspamd.pid") }
func (c Config) rspamdRulesFile() string { return filepath.Join(c.Dir, "conf", "rspamd.lua") }

// loginsDir has a file for each login, as rspamd reads it, and keysDir one for each key.
func (c Config) loginsDir() string { return filepath.Join(c.Dir, "logins") }
func (c Config) keysDir() string   { return filepath.Join(c.Dir, "dkim", "keys") }

// access is what a login may write as: the file that rspamd.lua reads.
type access struct {
	Addresses []string          `json:"addresses,omitempty"`
	Domains   []string          `json:"domains,omitempty"` // all their addresses
	Selectors map[string]string `json:"selectors,omitempty"`
}

// logins are the logins of an account, by name.
func (s state) logins(account string) (map[string][]byte, error) {
	all := map[string]access{}
	if domains := s.senders(); s.Secret != "" && len(domains) > 0 {
		all[account] = access{Domains: domains}
	}
	for _, m := range s.served() {
		if m.Protocols.SMTPOut {
			addresses := append([]string{m.Address}, m.Aliases...)
			all[m.Address] = access{Addresses: slices.DeleteFunc(addresses, func(a string) bool { return !s.sends(a) })}
		}
	}
	files := map[string][]byte{}
	for name, a := range all {
		domains := slices.Clone(a.Domains)
		for _, address := range a.Addresses {
			domains = append(domains, domainOf(address))
		}
		a.Selectors = map[string]string{}
		for _, domain := range domains {
			if k, ok := s.Keys[domain]; ok {
				a.Selectors[domain] = k.Selector
			}
		}
		content, err := json.Marshal(a)
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	return files, nil
}
