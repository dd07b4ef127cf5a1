package mail

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
)

// rspamdUser runs rspamd's processes; its package makes it.
const rspamdUser = "_rspamd"

// rspamdCache is where rspamd keeps its patterns compiled: it takes half a minute to compile them. It is the directory
// of its package, because the files are named for their content, and serve every instance.
const rspamdCache = "/var/lib/rspamd"

// rspamdRules are the rules of this machine: who may write as whom, and by which key it is signed.
//
//go:embed rspamd.lua
var rspamdRules string

// rspamd is rspamd.conf.
func (c Config) rspamd() string {
	suffixes := "${SHAREDIR}/effective_tld_names.dat"
	if c.suffixes != "" {
		suffixes = c.suffixes
	}
	return fmt.Sprintf(`# Written by stead; changes are lost.
options {
  filters = "dkim";
  pidfile = "%s";
  control_socket = "%s mode=0600";
  hs_cache_dir = "%s";
  tempdir = "/tmp";
  url_tld = "%s";
  explicit_modules = ["settings"];
  local_addrs = [];
  task_timeout = 20s;
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
modules {
  path = "${PLUGINSDIR}";
}
.include "${CONFDIR}/actions.conf"
lua = "%s";
stead {
  logins = "%s";
  keys = "%s";
}
dkim {
}
dkim_signing {
  sign_condition = "return function(task) return stead.dkim(task) end";
}
settings {
  # What customers send is theirs: it is checked for its sender, and signed.
  submission {
    priority = 10;
    authenticated = true;
    apply {
      symbols_enabled = ["STEAD_FROM", "DKIM_SIGNED"];
    }
  }
}
`, c.rspamdPID(), filepath.Join(c.Dir, "run", "rspamd.sock"), rspamdCache, suffixes, c.milter(), rspamdUser, c.rspamdRulesFile(), c.loginsDir(), c.keysDir())
}

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
	if s.Secret != "" && len(s.Domains) > 0 {
		all[account] = access{Domains: s.Domains}
	}
	for _, m := range s.served() {
		if m.Protocols.SMTPOut {
			all[m.Address] = access{Addresses: append([]string{m.Address}, m.Aliases...)}
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
