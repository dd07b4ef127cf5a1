package mail

import (
	"context"
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
	"stead.dev/stead/internal/port/panel"
)

// Config is what the facility is told. Where the daemons listen is an address and a port, "0.0.0.0" for
// all of IPv4 and "[::]" for all of IPv4 and IPv6; what is empty is not served. Dir, Store, Hostname, SMTP, Submit, Program, Accounts, Supervisor, Now and Log are needed.
type Config struct {
	Dir   string // of configuration, records, queue and sockets; paths of sockets are short, so it is too
	Store string // of the mail
	// Hostname is the machine's name in mail: in its greetings, in MX records, in mail programs and in its certificate.
	// Its address should point back to it in the DNS.
	Hostname string
	// IPv4 and IPv6 are the addresses from which it sends, so that SPF and PTR hold; reported. One that the machine has
	// not, because it is translated on the way, is not bound.
	IPv4, IPv6 string

	SMTP        string // for other servers: "0.0.0.0:25"
	Submission  string // :587
	Submissions string // :465
	IMAP        string // :143
	IMAPS       string // :993
	POP3        string // :110
	POP3S       string // :995
	// Sieve is where mail programs edit the filters of their mailbox (RFC 5804): ":4190". Nobody does where Dovecot has not the
	// program for it.
	Sieve string
	// Submit is where accounts' programs submit mail; an address of the loopback.
	Submit string
	// Signin is where Dovecot asks this process how long a sign-in has to wait; an address of the loopback. Empty: Dovecot's own
	// penalty of an address holds instead.
	Signin string

	// Relay gets all outgoing mail, instead of the servers of the DNS: "[smtp.example.com]:587". Empty sends directly.
	Relay string
	// Postmaster gets mail for postmaster@ of Hostname and of domains that have no such mailbox, and for postmaster
	// without a domain (RFC 5321, 4.5.1). Empty refuses it.
	Postmaster string
	// ClamAV is the socket of clamd, which scans what comes and what is sent; empty scans nothing.
	ClamAV string
	// ProgramLimit bounds the recipients of an account's programs in an hour; zero is 300.
	ProgramLimit int

	// Program starts this program with the arguments of PolicyCommand and SubmitCommand; everybody on the machine may
	// run it.
	Program []string
	// Resolver finds where the DNS points the mail of accounts' domains; nil: nobody is asked, and all of it belongs to
	// this machine.
	Resolver Resolver
	// Certificate returns the chain and key for Hostname in PEM; nil, or ok false, uses a self-signed one.
	Certificate func(hostname string) (chain, key []byte, ok bool)

	Accounts   facility.Lookup
	Supervisor daemon.Supervisor
	// Lines gets the daemons' messages about an account, whose group may read them; nil drops them.
	Lines func(account string, gid int, l panel.LogLine) error
	Now   func() time.Time
	Log   *slog.Logger

	// hasty answers a wrong password at once, for tests; otherwise the answer waits two seconds, and longer after each
	// failure.
	hasty bool
	// suffixes is a short list of public suffixes, for tests: to compile all of them takes long. Empty is rspamd's own.
	suffixes string
	// dns is the DNS server of rspamd, and xclient lets every client say where it comes from, for tests.
	dns     string
	xclient bool
}

const defaultProgramLimit = 300

func (c Config) programLimit() int {
	if c.ProgramLimit > 0 {
		return c.ProgramLimit
	}
	return defaultProgramLimit
}

// pathForm is what the daemons' configuration accepts unquoted.
var (
	pathForm  = regexp.MustCompile(`^/[A-Za-z0-9._/+-]*$`)
	relayForm = regexp.MustCompile(`^(\[[A-Za-z0-9.:-]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?$`)
)

// longestSocket is the kernel's bound of a socket's path (unix(7)).
const longestSocket = 107

func (c Config) check() error {
	if c.ClamAV != "" && !pathForm.MatchString(c.ClamAV) {
		return fmt.Errorf("mail: %q is no path of clamd's socket", c.ClamAV)
	}
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
		if strings.EqualFold(domainOf(c.Postmaster), c.Hostname) {
			return fmt.Errorf("mail: postmaster: nobody has mail at %s", c.Hostname)
		}
	}
	for _, listen := range []string{c.SMTP, c.Submission, c.Submissions, c.IMAP, c.IMAPS, c.POP3, c.POP3S, c.Sieve, c.Submit, c.Signin} {
		if _, err := netip.ParseAddrPort(listen); listen != "" && err != nil {
			return fmt.Errorf("mail: %w", err)
		}
	}
	if a, err := netip.ParseAddrPort(c.Submit); err != nil || !a.Addr().IsLoopback() {
		return fmt.Errorf("mail: %q is no address of the loopback", c.Submit)
	}
	if a, err := netip.ParseAddrPort(c.Signin); c.Signin != "" && (err != nil || !a.Addr().IsLoopback()) {
		return fmt.Errorf("mail: %q is no address of the loopback", c.Signin)
	}
	switch {
	case c.SMTP == "":
		return fmt.Errorf("mail: SMTP needs an address to listen on")
	case len(c.Program) == 0 || c.Accounts == nil || c.Supervisor == nil || c.Now == nil || c.Log == nil:
		return fmt.Errorf("mail: Program, Accounts, Supervisor, Now and Log are needed")
	}
	return nil
}

// dovecotDatabase is the database of Dovecot and Policy, and postfixDatabase that of Postfix.
func (c Config) dovecotDatabase() string { return c.table("dovecot.sqlite") }
func (c Config) postfixDatabase() string { return c.table("postfix.sqlite") }

// lookup names a table of Postfix's database for its settings. A process of Postfix that finds a database locked ends
// at once, with its connection. So only proxymap(8) reads it: its client waits and asks another.
func (c Config) lookup(table string) string { return "proxy:sqlite:stead_" + table }

func (c Config) table(name string) string  { return filepath.Join(c.Dir, "tables", name) }
func (c Config) socket(name string) string { return filepath.Join(c.Dir, "s", name) }
func (c Config) queue() string             { return filepath.Join(c.Dir, "queue") }
func (c Config) logFile(name string) string {
	return filepath.Join(c.Dir, "log", name+".log")
}

// restrictFull is the restriction that checks whether a mailbox is full, in the table of recipients.
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

		// Nothing is for users of the machine itself, and no address is trusted.
		{"mydestination", ""},
		{"mynetworks", "127.0.0.0/8 [::1]/128"}, // exempts from rates; permits nothing, see below
		{"local_transport", "error:5.1.1 Mailbox unavailable"},
		{"local_recipient_maps", ""},
		{"alias_maps", ""},
		{"alias_database", ""},
		{"relay_domains", c.lookup(tableElsewhere)}, // relayed, except mail at the port for other servers
		{"parent_domain_matches_subdomains", ""},

		{"virtual_mailbox_domains", c.lookup(tableDomains)},
		{"virtual_mailbox_maps", c.lookup(tableMailboxes)},
		{"virtual_alias_domains", c.Hostname},
		{"virtual_alias_maps", c.postmasterMap() + c.lookup(tableAliases)},
		// Mailboxes that forward to mailboxes that forward multiply a message, which no hourly limit counts.
		{"virtual_alias_expansion_limit", "100"},
		{"virtual_transport", "lmtp:unix:" + c.socket("lmtp")},
		{"transport_maps", c.lookup(tableTransports)},
		{"lmtp_destination_recipient_limit", "1"},
		{"lmtp_generic_maps", "regexp:" + c.unmarked()},
		{"smtp_generic_maps", "regexp:" + c.unmarked()}, // of accounts that have left
		{"recipient_delimiter", "+"},
		// The text after + is for this machine: elsewhere the address may not exist.
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
		{"smtpd_sender_login_maps", c.lookup(tableSenders)},
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
		{"hopcount_limit", "30"}, // ends loops through other servers
		{"maximal_queue_lifetime", "3d"},
		{"bounce_queue_lifetime", "1d"},
		{"bounce_size_limit", "20000"},
		{"notify_classes", ""},
		{"biff", "no"},
		{"smtputf8_enable", "no"},
		{"milter_default_action", "tempfail"},
		{"milter_protocol", "6"},
	}
	if c.xclient {
		settings = append(settings, [2]string{"smtpd_authorized_xclient_hosts", "127.0.0.0/8"})
	}
	for _, own := range [][2]string{{"smtp_bind_address", c.IPv4}, {"smtp_bind_address6", c.IPv6}} {
		if bindable(own[1]) {
			settings = append(settings, own)
		}
	}
	var proxied []string
	for _, table := range postfixTables {
		proxied = append(proxied, c.lookup(table))
		settings = append(settings, [2]string{"stead_" + table + "_dbpath", c.postfixDatabase()}, [2]string{
			"stead_" + table + "_query", "SELECT value FROM " + lookups + " WHERE map = '" + table + "' AND name = '%s' ORDER BY account LIMIT 1",
		})
	}
	settings = append(settings, [2]string{"proxy_read_maps", strings.Join(proxied, " ")})
	var b strings.Builder
	b.WriteString("# Written by stead; changes are lost.\n")
	for _, s := range settings {
		fmt.Fprintf(&b, "%s = %s\n", s[0], s[1])
	}
	return b.String()
}

// bindable reports whether the machine has an address, so that Postfix can send from it.
func bindable(address string) bool {
	if _, err := netip.ParseAddr(address); err != nil {
		return false
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// recipientRestrictions are Postfix's restrictions of recipients.
func (c Config) recipientRestrictions(tables ...string) string {
	all := "reject_non_fqdn_recipient, reject_unlisted_recipient, check_recipient_access regexp:" + c.marked()
	for _, name := range tables {
		all += ", check_recipient_access " + c.lookup(name)
	}
	return all
}

// marked is the table that refuses mail to the machine's internal names, and unmarked the one that hides them from
// Dovecot.
func (c Config) marked() string   { return filepath.Join(c.Dir, "conf", "postfix", "marked") }
func (c Config) unmarked() string { return filepath.Join(c.Dir, "conf", "postfix", "unmarked") }

func markedTable() string   { return "/" + regexp.QuoteMeta(hereMark) + "$/ REJECT\n" }
func unmarkedTable() string { return "/^(.*)" + regexp.QuoteMeta(hereMark) + "$/ ${1}\n" }

// silent is the table by which mail of other servers never causes a message to its sender, who may be forged: neither a
// bounce nor a report that the client asked for. What cannot be delivered is refused while the client waits for the
// answer; a forward that another server refuses is in the account's log.
func (c Config) silent() string { return filepath.Join(c.Dir, "conf", "postfix", "silent") }

func silentTable() string {
	const rcpt = `RCPT[[:space:]]+TO:`
	return "/^(" + rcpt + ".*)[[:space:]]NOTIFY=[^[:space:]]*(.*)$/ ${1} NOTIFY=NEVER${2}\n" +
		"/^(" + rcpt + ".*)$/ ${1} NOTIFY=NEVER\n"
}

// received is the table by which the Received header of what customers send says nothing of where they are.
func (c Config) received() string { return filepath.Join(c.Dir, "conf", "postfix", "received") }

func (c Config) receivedTable() string {
	return "/^Received: from .*[[:space:]]by " + regexp.QuoteMeta(c.Hostname) + ` \(Postfix\) with ([A-Z]+) (\(.*\) )?id ([0-9A-Za-z]+)(.*)$/` +
		" REPLACE Received: by " + c.Hostname + " with ${1} id ${3}${4}\n"
}

// postmasterMap is the alias of the machine's own postmaster, which Postfix also takes for one without a domain.
func (c Config) postmasterMap() string {
	if c.Postmaster == "" {
		return ""
	}
	return "inline:{ { postmaster@" + c.Hostname + " = " + c.Postmaster + " } }, "
}

// postfixMaster is master.cf: the services, after Postfix's own.
func (c Config) postfixMaster() string {
	var b strings.Builder
	b.WriteString("# Written by stead; changes are lost.\n")
	signedIn := []string{
		"cleanup_service_name=outgoing",
		"smtpd_sasl_auth_enable=yes",
		"smtpd_client_restrictions=permit_sasl_authenticated,reject",
		"smtpd_relay_restrictions=permit_sasl_authenticated,reject",
		// Every sent message has a sender who can be asked about it.
		"smtpd_sender_restrictions=check_sender_access inline:{{<>=REJECT}},reject_non_fqdn_sender,reject_sender_login_mismatch",
		"smtpd_end_of_data_restrictions=check_policy_service,unix:private/policy",
		"smtpd_recipient_limit=" + strconv.Itoa(maxRecipients), // beyond any limit of an hour, which refuses for good: see Policy
		"smtpd_milters=unix:" + c.milter(),
		"syslog_name=postfix/submission",
	}
	tls := []string{"smtpd_tls_security_level=encrypt"}
	for _, s := range []struct {
		listen  string
		options []string
	}{
		{c.SMTP, []string{
			"cleanup_service_name=inbound",
			"smtpd_command_filter=regexp:" + c.silent(),
			"smtpd_milters=unix:" + c.milter(),
			"smtpd_etrn_restrictions=reject",
			"relay_recipient_maps=" + c.lookup(tableInbound),
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
	fmt.Fprintf(&b, "inbound unix n - n - 0 cleanup\n  -o { recipient_canonical_maps = %s }\n  -o { recipient_canonical_classes = envelope_recipient }\n",
		c.lookup(tableElsewhere))
	fmt.Fprintf(&b, "outgoing unix n - n - 0 cleanup\n  -o { header_checks = regexp:%s }\n", c.received())
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
` + c.outward("smtp") + c.outward("relay") + relayTransport + ` unix - - n - - smtp
  -o { soft_bounce = yes }
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

// outward is a service of Postfix that gives mail to servers of the world. Where no IPv6 address of the machine is known, it uses
// IPv4 alone: SPF and PTR would name no other one.
func (c Config) outward(service string) string {
	service += " unix - - n - - smtp\n"
	if c.IPv6 == "" && c.Relay == "" {
		service += "  -o { inet_protocols = ipv4 }\n"
	}
	return service
}

// postfixAddress formats a listening address for master(5).
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

// policyUser runs Policy: a user that owns nothing and runs no customer's program.
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
	protocols := "imap pop3 lmtp"
	if c.Sieve != "" {
		protocols += " sieve"
	}
	line("protocols = %s", protocols)
	line("ssl = yes\nssl_min_protocol = TLSv1.2\nssl_prefer_server_ciphers = yes")
	line("ssl_cert = <%s", filepath.Join(c.Dir, "tls", "cert.pem"))
	line("ssl_key = <%s", filepath.Join(c.Dir, "tls", "key.pem"))
	line("disable_plaintext_auth = yes\nauth_mechanisms = plain login\nauth_username_format = %%Lu")
	line("!include %s", c.dovecotSigninFile())
	if c.hasty {
		line("auth_failure_delay = 0")
	}
	if c.hasty || c.Signin != "" {
		// Dovecot's own penalty of an address would delay the programs of all accounts for what one of them does.
		line("service anvil {\n  unix_listener anvil-auth-penalty {\n    mode = 0\n  }\n}")
	}
	line("first_valid_uid = 100\nmail_access_groups = %s", storeGroup)
	line("mail_location = maildir:~/Maildir\nmail_plugins = quota\nrecipient_delimiter = +")
	line("mail_max_userip_connections = 20\nmaildir_stat_dirs = no\nlmtp_save_to_detail_mailbox = no\nquota_full_tempfail = yes")
	line("sendmail_path = %s %s %s", strings.Join(c.Program, " "), SubmitCommand, c.Dir)
	for _, box := range []string{"Drafts", "Sent", "Trash", "Junk"} {
		if box == "Drafts" {
			line("namespace inbox {\n  inbox = yes\n  separator = .")
		}
		line("  mailbox %s {\n    auto = subscribe\n    special_use = \\%s\n  }", box, box)
	}
	line("}")
	line("protocol imap {\n  mail_plugins = $mail_plugins imap_quota last_login imap_sieve\n}")
	line("protocol pop3 {\n  mail_plugins = $mail_plugins last_login\n}")
	line("protocol lmtp {\n  mail_plugins = $mail_plugins sieve\n}")
	line("plugin {\n  quota = count:User quota\n  quota_vsizes = yes\n  quota_grace = 0")
	line("  quota_status_success = DUNNO\n  quota_status_nouser = DUNNO\n  quota_status_overquota = \"552 5.2.2 The mailbox is full\"")
	line("  quota_exceeded_message = The mailbox is full")
	line("  last_login_dict = file:%%h/last-login\n  last_login_key = last-login")
	line("  sieve = file:~/sieve;active=~/.sieve")
	// What customers write themselves sends nothing on and refuses nothing: forwards are settings of the mailbox, and a refusal
	// would go to senders who are forged. Answers (vacation) pass the checks of what the account sends.
	line("  sieve_extensions = -reject -enotify\n  sieve_max_redirects = 0")
	line("  sieve_max_script_size = 64K\n  sieve_quota_max_scripts = 20\n  sieve_quota_max_storage = 512K\n  sieve_max_cpu_time = 5s")
	line("  sieve_before = %s", c.sieveScript(scriptJunk))
	line("  sieve_before2 = %s/%%u.sieve", filepath.Join(c.Dir, "replies"))
	line("  sieve_plugins = sieve_imapsieve sieve_extprograms\n  sieve_global_extensions = +vnd.dovecot.pipe +vnd.dovecot.environment")
	line("  sieve_pipe_bin_dir = %s\n  sieve_env_spam = %s", c.sieveBin(), strings.Repeat("*", junkAt))
	// Who moves a message into Junk, or out of it, teaches the mailbox's filter.
	line("  imapsieve_mailbox1_name = Junk\n  imapsieve_mailbox1_causes = COPY\n  imapsieve_mailbox1_before = file:%s", c.sieveScript(scriptSpam))
	line("  imapsieve_mailbox2_name = *\n  imapsieve_mailbox2_from = Junk\n  imapsieve_mailbox2_causes = COPY\n  imapsieve_mailbox2_before = file:%s", c.sieveScript(scriptHam))
	// Auto-Submitted (RFC 3834) and one answer per sender and day end loops; with an address of its own the answer
	// passes the checks of senders, and is signed.
	line("  sieve_vacation_send_from_recipient = yes\n  sieve_vacation_min_period = 1d\n}")
	line("passdb {\n  driver = sql\n  args = %s\n}\nuserdb {\n  driver = sql\n  args = %s\n}", c.dovecotQueries(), c.dovecotQueries())
	line("service auth-worker {\n  user = $default_internal_user\n}") // PAM would need root
	for _, s := range []struct{ service, plain, tls string }{{"imap", c.IMAP, c.IMAPS}, {"pop3", c.POP3, c.POP3S}} {
		line("service %s-login {", s.service)
		// Several TLS connections share a process: with one process for each, a hundred connections would be the
		// machine's limit, and anybody could occupy it.
		line("  service_count = 0\n  process_min_avail = 2\n  vsz_limit = 1G")
		listener(line, s.service, s.plain, false)
		listener(line, s.service+"s", s.tls, true)
		line("}")
	}
	if c.Sieve != "" {
		line("service managesieve-login {\n  service_count = 0\n  vsz_limit = 1G")
		listener(line, "sieve", c.Sieve, false)
		line("}")
		line("protocol sieve {\n  managesieve_implementation_string = Stead\n  mail_max_userip_connections = 10\n}")
	}
	// Its memory limit also applies to Submit, a Go program, which reserves much address space that it does not use.
	line("service lmtp {\n  vsz_limit = 4G\n  unix_listener %s {\n    user = postfix\n    group = postfix\n    mode = 0600\n  }\n}", c.socket("lmtp"))
	line("service auth {\n  unix_listener %s {\n    user = postfix\n    group = postfix\n    mode = 0600\n  }", c.socket("auth"))
	// By Dovecot's default everybody on the machine could use these sockets: to list mailboxes, and to deliver mail
	// without Postfix's checks.
	line("  unix_listener auth-userdb {\n    mode = 0660\n    group = %s\n  }\n}", storeGroup)
	for _, s := range [][2]string{{"lmtp", "lmtp"}, {"indexer", "indexer"}, {"dns-client", "dns-client"}, {"imap-urlauth-login", "imap-urlauth"}} {
		line("service %s {\n  unix_listener %s {\n    mode = 0\n  }\n}", s[0], s[1])
	}
	line("service imap {\n  process_limit = 4096\n}")
	// One for each process of Postfix that receives mail.
	line("service quota-status {\n  executable = quota-status -p postfix\n  client_limit = 1\n  process_limit = 400")
	line("  unix_listener %s {\n    user = postfix\n    group = postfix\n    mode = 0600\n  }\n}", c.socket("quota-status"))
	return b.String()
}

// dovecotSigninFile is the file of dovecotSignin.
func (c Config) dovecotSigninFile() string {
	return filepath.Join(c.Dir, "conf", "dovecot-signin.conf")
}

// dovecotQueries is the file of dovecotSQL.
func (c Config) dovecotQueries() string { return filepath.Join(c.Dir, "conf", "dovecot-sql.conf") }

// dovecotSQL has Dovecot's queries for sign-ins and deliveries. Dovecot treats NULL as absent. There is no list of all
// mailboxes, for which doveadm asks even when it is given one.
func (c Config) dovecotSQL() string {
	return fmt.Sprintf(`# Written by stead; changes are lost.
driver = sqlite
connect = %s
default_pass_scheme = BLF-CRYPT
password_query = SELECT password, NULLIF(networks, '') AS allow_nets FROM %s WHERE service = '%%s' AND login = '%%u' ORDER BY account LIMIT 1
user_query = SELECT uid, gid, home, NULLIF(quota, '') AS quota_rule, NULLIF(spam, '') AS sieve_env_spam FROM %s WHERE address IN ('%%u', '@%%d') ORDER BY length(address) DESC, account LIMIT 1
iterate_query = SELECT address AS user FROM %s LIMIT 0
`, c.dovecotDatabase(), passwords, users, users)
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

// userIDs are the ids of the daemons' users.
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
