package mail

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/panel"
)

// Config is what the facility is told. Where the daemons listen is an address and a port, "0.0.0.0" for
// all of IPv4 and "[::]" for all of IPv4 and IPv6; what is empty is not served. Dir, Store, Hostname, SMTP, Submit, Program, Accounts, Supervisor, Now and Log are needed.
type Config struct {
	Dir   string // of configuration, records, queue and sockets; paths of sockets are short, so it is too
	Store string // of the mail
	// Hostname is the machine's name in mail: what it says to others, what MX records and mail programs
	// name, and what its certificate is for. Its address should lead back to it in the DNS.
	Hostname   string
	IPv4, IPv6 string // from which it sends; reported

	SMTP        string // from other servers: "0.0.0.0:25"
	Submission  string // :587
	Submissions string // :465
	IMAP        string // :143
	IMAPS       string // :993
	POP3        string // :110
	POP3S       string // :995
	// Submit is where the programs of accounts hand mail in; an address of the loopback.
	Submit string

	// Relay takes what leaves the machine, instead of the servers that the DNS names:
	// "[smtp.example.com]:587". Empty sends directly.
	Relay string
	// Postmaster gets mail for postmaster@ of domains that have no such mailbox (RFC 5321, 4.5.1).
	Postmaster string
	// ProgramLimit is how many recipients the programs of an account may send to in an hour; zero is 300.
	ProgramLimit int

	// Program starts this program with the arguments of PolicyCommand and SubmitCommand; everyone on the
	// machine may run it.
	Program []string
	// Resolver tells where the DNS leads mail for the domains of accounts; nil: nobody is asked, and all of it is this
	// machine's.
	Resolver Resolver
	// Certificate answers the chain and key for Hostname in PEM; nil, or ok false, is one that the
	// machine signs itself.
	Certificate func(hostname string) (chain, key []byte, ok bool)

	Accounts   facility.Lookup
	Supervisor daemon.Supervisor
	// Lines gets what the daemons say about an account, whose group may read it; nil drops it.
	Lines func(account string, gid int, l panel.LogLine) error
	Now   func() time.Time
	Log   *slog.Logger

	// hasty answers a wrong password at once, for tests that have many; others wait two seconds, and
	// longer the more there were.
	hasty bool
}

const defaultProgramLimit = 300

func (c Config) programLimit() int {
	if c.ProgramLimit > 0 {
		return c.ProgramLimit
	}
	return defaultProgramLimit
}

// pathForm is what may stand in the daemons' configuration unquoted.
var (
	pathForm  = regexp.MustCompile(`^/[A-Za-z0-9._/+-]*$`)
	relayForm = regexp.MustCompile(`^(\[[A-Za-z0-9.:-]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?$`)
)

// longestSocket is the kernel's bound of a socket's path (unix(7)).
const longestSocket = 107

func (c Config) check() error {
	for _, path := range append([]string{c.Dir, c.Store}, c.Program...) {
		if !pathForm.MatchString(path) && (path == c.Dir || path == c.Store || strings.ContainsAny(path, " \t\n{}$,;\"'\\")) {
			return fmt.Errorf("mail: the path %q cannot stand in the configuration of mail servers", path)
		}
	}
	if longest := c.socket("quota-status"); len(longest) > longestSocket || len(filepath.Join(c.queue(), "private", "proxywrite")) > longestSocket {
		return fmt.Errorf("mail: %s is too long for a socket: choose a shorter directory", longest)
	}
	if _, err := panel.CanonicalHost(c.Hostname); err != nil {
		return fmt.Errorf("mail: host name: %w", err)
	}
	if c.Relay != "" && !relayForm.MatchString(c.Relay) {
		return fmt.Errorf("mail: relay %q", c.Relay)
	}
	if c.Postmaster != "" {
		if _, _, err := panel.ForwardAddress(c.Postmaster); err != nil {
			return fmt.Errorf("mail: postmaster: %w", err)
		}
	}
	for _, listen := range []string{c.SMTP, c.Submission, c.Submissions, c.IMAP, c.IMAPS, c.POP3, c.POP3S, c.Submit} {
		if _, err := netip.ParseAddrPort(listen); listen != "" && err != nil {
			return fmt.Errorf("mail: %w", err)
		}
	}
	if a, err := netip.ParseAddrPort(c.Submit); err != nil || !a.Addr().IsLoopback() {
		return fmt.Errorf("mail: %q is no address of the loopback", c.Submit)
	}
	switch {
	case c.SMTP == "":
		return fmt.Errorf("mail: SMTP needs an address to listen on")
	case len(c.Program) == 0 || c.Accounts == nil || c.Supervisor == nil || c.Now == nil || c.Log == nil:
		return fmt.Errorf("mail: Program, Accounts, Supervisor, Now and Log are needed")
	}
	return nil
}

func (c Config) table(name string) string  { return filepath.Join(c.Dir, "tables", name) }
func (c Config) socket(name string) string { return filepath.Join(c.Dir, "s", name) }
func (c Config) queue() string             { return filepath.Join(c.Dir, "queue") }
func (c Config) logFile(name string) string {
	return filepath.Join(c.Dir, "log", name+".log")
}

// restrictFull is the question whether a mailbox is full, in the table of recipients.
const restrictFull = "stead_full"

// postfixMain is main.cf.
func (c Config) postfixMain() string {
	settings := [][2]string{
		{"compatibility_level", "3.6"},
		{"queue_directory", c.queue()},
		{"data_directory", filepath.Join(c.Dir, "data")},
		{"maillog_file", c.logFile("postfix")},
		{"maillog_file_prefixes", c.Dir},
		{"mail_owner", "postfix"},
		{"setgid_group", "postdrop"},
		{"syslog_name", "postfix"},
		{"myhostname", c.Hostname},
		{"myorigin", "$myhostname"},
		{"smtpd_banner", "$myhostname ESMTP"},
		{"inet_protocols", "all"},

		// Nothing here is for users of the machine itself, and nobody is trusted for where it comes from.
		{"mydestination", ""},
		{"mynetworks", "127.0.0.0/8 [::1]/128"}, // exempts from rates; permits nothing, see below
		{"local_transport", "error:5.1.1 Mailbox unavailable"},
		{"local_recipient_maps", ""},
		{"alias_maps", ""},
		{"alias_database", ""},
		{"relay_domains", "hash:" + c.table(tableElsewhere)}, // sent on, but for what comes to the port for other servers
		{"parent_domain_matches_subdomains", ""},

		{"virtual_mailbox_domains", "hash:" + c.table(tableDomains)},
		{"virtual_mailbox_maps", "hash:" + c.table(tableMailboxes)},
		{"virtual_alias_domains", ""},
		{"virtual_alias_maps", "hash:" + c.table(tableAliases)},
		{"virtual_transport", "lmtp:unix:" + c.socket("lmtp")},
		{"lmtp_destination_recipient_limit", "1"},
		{"lmtp_generic_maps", "regexp:" + c.unmarked()},
		{"recipient_delimiter", "+"},
		// What follows the + is for this machine: elsewhere an address with it may be nobody's.
		{"propagate_unmatched_extensions", ""},
		{"append_dot_mydomain", "no"},
		{"swap_bangpath", "no"},
		{"allow_percent_hack", "no"},
		{"strict_rfc821_envelopes", "yes"},
		{"disable_vrfy_command", "yes"},
		{"smtpd_helo_required", "yes"},
		{"smtpd_forbid_bare_newline", "normalize"}, // CVE-2023-51764
		{"smtpd_forbid_bare_newline_exclusions", ""},
		{"smtpd_data_restrictions", "reject_unauth_pipelining"},
		{"smtpd_relay_restrictions", "reject_unauth_destination"},
		{"smtpd_recipient_restrictions", c.recipientRestrictions(tableRecipients)},
		{"smtpd_sender_restrictions", "reject_non_fqdn_sender"},
		{"smtpd_restriction_classes", restrictFull},
		{restrictFull, "check_policy_service { unix:" + c.socket("quota-status") + ", timeout=10s, default_action=DUNNO }"},
		{"smtpd_sender_login_maps", "hash:" + c.table(tableSenders)},
		{"smtpd_sasl_type", "dovecot"},
		{"smtpd_sasl_path", c.socket("auth")},
		{"smtpd_sasl_security_options", "noanonymous"},
		{"smtpd_sasl_auth_enable", "no"},
		{"smtpd_tls_auth_only", "yes"},
		{"smtpd_tls_chain_files", filepath.Join(c.Dir, "tls", "chain.pem")},
		{"smtpd_tls_security_level", "may"},
		{"smtpd_tls_mandatory_protocols", ">=TLSv1.2"},
		{"smtpd_tls_session_cache_database", ""},
		{"smtpd_tls_loglevel", "1"},
		{"smtpd_tls_received_header", "yes"},
		{"smtp_tls_security_level", "may"},
		{"smtp_tls_loglevel", "1"},
		{"tls_random_source", "dev:/dev/urandom"},
		{"relayhost", c.Relay},

		{"message_size_limit", strconv.Itoa(maxMessage)},
		{"mailbox_size_limit", "0"},
		{"virtual_mailbox_limit", "0"},
		{"smtpd_recipient_limit", "500"},
		{"smtpd_client_connection_count_limit", "40"},
		{"smtpd_client_connection_rate_limit", "120"},
		{"smtpd_client_message_rate_limit", "300"},
		{"smtpd_client_auth_rate_limit", "30"},
		{"anvil_rate_time_unit", "60s"},
		{"hopcount_limit", "30"}, // ends circles that lead over other servers
		{"maximal_queue_lifetime", "3d"},
		{"bounce_queue_lifetime", "1d"},
		{"bounce_size_limit", "20000"},
		{"notify_classes", ""},
		{"biff", "no"},
		{"smtputf8_enable", "no"},
		{"milter_default_action", "accept"},
		{"milter_protocol", "6"},
	}
	var b strings.Builder
	b.WriteString("# Written by stead; changes are lost.\n")
	for _, s := range settings {
		fmt.Fprintf(&b, "%s = %s\n", s[0], s[1])
	}
	return b.String()
}

// recipientRestrictions are what Postfix asks about who is to get mail.
func (c Config) recipientRestrictions(tables ...string) string {
	all := "reject_non_fqdn_recipient, reject_unlisted_recipient, check_recipient_access regexp:" + c.marked()
	for _, name := range tables {
		all += ", check_recipient_access hash:" + c.table(name)
	}
	return all
}

// marked is the table by which nobody writes to names that are the machine's within it, and unmarked the one by which
// Dovecot does not see them.
func (c Config) marked() string   { return filepath.Join(c.Dir, "conf", "postfix", "marked") }
func (c Config) unmarked() string { return filepath.Join(c.Dir, "conf", "postfix", "unmarked") }

func markedTable() string   { return "/" + regexp.QuoteMeta(hereMark) + "$/ REJECT\n" }
func unmarkedTable() string { return "/^(.*)" + regexp.QuoteMeta(hereMark) + "$/ ${1}\n" }

// postfixMaster is master.cf: the services, after Postfix's own.
func (c Config) postfixMaster() string {
	var b strings.Builder
	b.WriteString("# Written by stead; changes are lost.\n")
	signedIn := []string{
		"smtpd_sasl_auth_enable=yes",
		"smtpd_client_restrictions=permit_sasl_authenticated,reject",
		"smtpd_relay_restrictions=permit_sasl_authenticated,reject",
		// Everything that is sent has a sender who can be asked about it.
		"smtpd_sender_restrictions=check_sender_access inline:{{<>=REJECT}},reject_non_fqdn_sender,reject_sender_login_mismatch",
		"smtpd_end_of_data_restrictions=check_policy_service,unix:private/policy",
		"smtpd_milters=unix:" + c.socket("dkim/milter"),
		"syslog_name=postfix/submission",
	}
	tls := []string{"smtpd_tls_security_level=encrypt"}
	for _, s := range []struct {
		listen  string
		options []string
	}{
		{c.SMTP, []string{
			"cleanup_service_name=inbound",
			"relay_recipient_maps=hash:" + c.table(tableInbound),
			"smtpd_recipient_restrictions=" + c.recipientRestrictions(tableRecipients, tableInbound),
		}},
		{c.Submission, append(tls, signedIn...)},
		{c.Submissions, append([]string{"smtpd_tls_wrappermode=yes"}, signedIn...)},
		{c.Submit, append([]string{"smtpd_tls_security_level=none", "smtpd_tls_auth_only=no"}, signedIn...)},
	} {
		if s.listen == "" {
			continue
		}
		fmt.Fprintf(&b, "%s inet n - n - - smtpd\n", postfixAddress(s.listen))
		for _, o := range s.options {
			fmt.Fprintf(&b, "  -o { %s }\n", strings.Replace(o, "=", " = ", 1))
		}
	}
	b.WriteString(`pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
`)
	fmt.Fprintf(&b, "inbound unix n - n - 0 cleanup\n  -o { recipient_canonical_maps = hash:%s }\n  -o { recipient_canonical_classes = envelope_recipient }\n",
		c.table(tableElsewhere))
	b.WriteString(`qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`)
	fmt.Fprintf(&b, "policy unix - n n - 0 spawn\n  user=%s argv=%s %s %s\n", policyUser, strings.Join(c.Program, " "), PolicyCommand, c.Dir)
	return b.String()
}

// postfixAddress is a listening address as master(5) wants it.
func postfixAddress(listen string) string {
	a, err := netip.ParseAddrPort(listen)
	if err != nil {
		return listen
	}
	if a.Addr() == netip.IPv6Unspecified() { // IPv4 too
		return strconv.Itoa(int(a.Port()))
	}
	return net.JoinHostPort(a.Addr().String(), strconv.Itoa(int(a.Port())))
}

// policyUser runs Policy: a user that owns nothing and that no customer's program runs as.
const policyUser = "dovecot"

// storeGroup may enter the store; see the package's comment.
const storeGroup = "mail"

// dovecot is dovecot.conf.
func (c Config) dovecot() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Written by stead; changes are lost.")
	line("base_dir = %s", filepath.Join(c.Dir, "run"))
	line("state_dir = %s", filepath.Join(c.Dir, "state"))
	line("instance_name = stead-mail")
	line("log_path = %s", c.logFile("dovecot"))
	line(`log_timestamp = "%%Y-%%m-%%dT%%H:%%M:%%S "`)
	line("login_greeting = Ready.")
	line("hostname = %s", c.Hostname)
	line("postmaster_address = postmaster@%s", c.Hostname)
	line("protocols = imap pop3 lmtp")
	line("ssl = yes\nssl_min_protocol = TLSv1.2\nssl_prefer_server_ciphers = yes")
	line("ssl_cert = <%s", filepath.Join(c.Dir, "tls", "cert.pem"))
	line("ssl_key = <%s", filepath.Join(c.Dir, "tls", "key.pem"))
	line("disable_plaintext_auth = yes\nauth_mechanisms = plain login\nauth_username_format = %%Lu")
	if c.hasty {
		line("auth_failure_delay = 0\nservice anvil {\n  unix_listener anvil-auth-penalty {\n    mode = 0\n  }\n}")
	}
	line("first_valid_uid = 100\nmail_access_groups = %s", storeGroup)
	line("mail_location = maildir:~/Maildir\nmail_plugins = quota\nrecipient_delimiter = +")
	line("mail_max_userip_connections = 20\nmaildir_stat_dirs = no\nlmtp_save_to_detail_mailbox = no\nquota_full_tempfail = no")
	line("sendmail_path = %s %s %s", strings.Join(c.Program, " "), SubmitCommand, c.Dir)
	for _, box := range []string{"Drafts", "Sent", "Trash", "Junk"} {
		if box == "Drafts" {
			line("namespace inbox {\n  inbox = yes\n  separator = .")
		}
		line("  mailbox %s {\n    auto = subscribe\n    special_use = \\%s\n  }", box, box)
	}
	line("}")
	line("protocol imap {\n  mail_plugins = $mail_plugins imap_quota last_login\n}")
	line("protocol pop3 {\n  mail_plugins = $mail_plugins last_login\n}")
	line("protocol lmtp {\n  mail_plugins = $mail_plugins sieve\n}")
	line("plugin {\n  quota = count:User quota\n  quota_vsizes = yes\n  quota_grace = 0")
	line("  quota_status_success = DUNNO\n  quota_status_nouser = DUNNO\n  quota_status_overquota = \"552 5.2.2 The mailbox is full\"")
	line("  quota_exceeded_message = The mailbox is full")
	line("  last_login_dict = file:%%h/last-login\n  last_login_key = last-login")
	line("  sieve = file:~/sieve;active=~/.sieve")
	line("  sieve_before = %s/%%u.sieve", filepath.Join(c.Dir, "replies"))
	// Loops are ended by Auto-Submitted (RFC 3834) and by who is answered at most once a day; with an
	// address of its own the answer passes the checks of who may send what, and is signed.
	line("  sieve_vacation_send_from_recipient = yes\n  sieve_vacation_min_period = 1d\n}")
	line("passdb {\n  driver = passwd-file\n  args = scheme=BLF-CRYPT username_format=%%u %s/passwd.%%s\n}", filepath.Join(c.Dir, "tables"))
	line("userdb {\n  driver = passwd-file\n  args = username_format=%%u %s\n}", c.table(tableUsers))
	line("userdb {\n  driver = passwd-file\n  args = username_format=%%d %s\n}", c.table(tableCatchAll))
	for _, s := range []struct{ service, plain, tls string }{{"imap", c.IMAP, c.IMAPS}, {"pop3", c.POP3, c.POP3S}} {
		line("service %s-login {", s.service)
		// Connections with TLS stay with the process that they came to: with one for each, a hundred would be all that
		// a machine has, and anybody could take those.
		line("  service_count = 0\n  process_min_avail = 2\n  vsz_limit = 1G")
		listener(line, s.service, s.plain, false)
		listener(line, s.service+"s", s.tls, true)
		line("}")
	}
	// Its bound of memory is also that of Submit, a program of Go's, which reserves much that it does not use.
	line("service lmtp {\n  vsz_limit = 4G\n  unix_listener %s {\n    user = postfix\n    group = postfix\n    mode = 0600\n  }\n}", c.socket("lmtp"))
	line("service auth {\n  unix_listener %s {\n    user = postfix\n    group = postfix\n    mode = 0600\n  }", c.socket("auth"))
	// Everybody on the machine may use these as Dovecot has them: to learn of mailboxes, and to put mail into them
	// past all that Postfix asks.
	line("  unix_listener auth-userdb {\n    mode = 0660\n    group = %s\n  }\n}", storeGroup)
	for _, s := range [][2]string{{"lmtp", "lmtp"}, {"indexer", "indexer"}, {"dns-client", "dns-client"}, {"imap-urlauth-login", "imap-urlauth"}} {
		line("service %s {\n  unix_listener %s {\n    mode = 0\n  }\n}", s[0], s[1])
	}
	line("service imap {\n  process_limit = 4096\n}")
	// One for each process of Postfix that takes mail.
	line("service quota-status {\n  executable = quota-status -p postfix\n  client_limit = 1\n  process_limit = 400")
	line("  unix_listener %s {\n    user = postfix\n    group = postfix\n    mode = 0600\n  }\n}", c.socket("quota-status"))
	return b.String()
}

func listener(line func(string, ...any), name, listen string, tls bool) {
	a, err := netip.ParseAddrPort(listen)
	if err != nil {
		line("  inet_listener %s {\n    port = 0\n  }", name)
		return
	}
	address := a.Addr().String()
	switch a.Addr() {
	case netip.IPv4Unspecified():
		address = "*"
	case netip.IPv6Unspecified():
		address = "*, ::"
	}
	line("  inet_listener %s {\n    address = %s\n    port = %d", name, address, a.Port())
	if tls {
		line("    ssl = yes")
	}
	line("  }")
}

// opendkim is opendkim.conf. It signs for the domain of the envelope's sender, because that one was
// checked against who signed in; a From header is what anybody writes.
func (c Config) opendkim() string {
	return fmt.Sprintf(`# Written by stead; changes are lost.
Socket local:%s
UMask 007
UserID opendkim:postfix
Mode s
Canonicalization relaxed/relaxed
SignatureAlgorithm rsa-sha256
MinimumKeyBits 1024
OversignHeaders From
SenderMacro {mail_addr}
KeyTable file:%s
SigningTable refile:%s
InternalHosts 0.0.0.0/0,::/0
SubDomains no
Syslog no
RequireSafeKeys no
`, c.socket("dkim/milter"), c.table(tableKeys), c.table(tableSigning))
}

// userIDs are those of the daemons' users.
func userIDs(name string) (uid, gid int, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, err
	}
	if uid, err = strconv.Atoi(u.Uid); err != nil {
		return 0, 0, err
	}
	gid, err = strconv.Atoi(u.Gid)
	return uid, gid, err
}
