package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/config"
)

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stead.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, in config.Input) *config.Config {
	t.Helper()
	c, err := config.Load(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNothingConfiguredIsACompleteConfiguration(t *testing.T) {
	c := load(t, config.Input{})
	for what, pair := range map[string][2]any{
		"listen":    {c.Listen, "127.0.0.1:8080"},
		"base URL":  {c.BaseURL, "http://127.0.0.1:8080"},
		"node URL":  {c.NodeURL, "http://127.0.0.1:8081"},
		"ops":       {c.OpsListen, "127.0.0.1:8082"},
		"SQLite":    {c.SQLite(), true},
		"TLS":       {c.TLS(), false},
		"throttle":  {c.Throttle, true},
		"public":    {c.ThrottlePublic, 90},
		"reseller":  {c.ThrottleReseller, 60},
		"checks":    {c.ThrottleDomainCheck, 20},
		"body":      {c.MaxBody, config.Size(1 << 20)},
		"log level": {c.LogLevel, slog.LevelInfo},
		"demo":      {c.Demo, false},
		"loopback":  {c.AllowLoopbackTargets, false},
		"monitors":  {c.Monitors, true},
		"language":  {c.DefaultLanguage, "en"},
		"shutdown":  {c.ShutdownTimeout, 30 * time.Second},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %v, want %v", what, pair[0], pair[1])
		}
	}
}

func TestALaterSourceWins(t *testing.T) {
	path := file(t, `
listen: 127.0.0.1:1001
node_listen: 127.0.0.1:1001
job_workers: 3
demo: false
trusted_proxies: [10.1.2.3/8, 192.0.2.7]
max_upload: 2GiB
`)
	c := load(t, config.Input{
		Environ: []string{
			"STEAD_CONFIG=" + path, "STEAD_NODE_LISTEN=127.0.0.1:2002", "STEAD_DEMO=false", "STEAD_JOB_WORKERS=",
			"STEAD_CLOCK_OFFSET=360h", "STEAD_LOG_LEVEL=debug", "HOME=/root",
		},
		CommandLine: map[string]string{"demo": "true"},
	})
	if c.Listen != "127.0.0.1:1001" || c.NodeListen != "127.0.0.1:2002" || c.JobWorkers != 3 || !c.Demo {
		t.Errorf("listen %s, node %s, %d workers, demo %v", c.Listen, c.NodeListen, c.JobWorkers, c.Demo)
	}
	if c.ClockOffset != 15*24*time.Hour || c.LogLevel != slog.LevelDebug || c.MaxUpload != 2<<30 {
		t.Errorf("offset %v, level %v, upload %v", c.ClockOffset, c.LogLevel, c.MaxUpload)
	}
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32")}
	if !slices.Equal(c.TrustedProxies, want) {
		t.Errorf("proxies %v, want %v", c.TrustedProxies, want)
	}

	from := map[string]config.Source{}
	for _, d := range c.Describe() {
		from[d.Name] = d.Source
	}
	for name, want := range map[string]config.Source{
		"listen": config.FromFile, "node_listen": config.FromEnvironment, "demo": config.FromCommandLine,
		"job_workers": config.FromFile, "ops_listen": config.FromDefault,
	} {
		if from[name] != want {
			t.Errorf("%s is from %q, want %q", name, from[name], want)
		}
	}
}

func TestTheFlagNamesTheFileBeforeTheVariable(t *testing.T) {
	c := load(t, config.Input{
		File:    file(t, "company_name: From the flag"),
		Environ: []string{"STEAD_CONFIG=" + filepath.Join(t.TempDir(), "missing.yaml")},
	})
	if c.CompanyName != "From the flag" {
		t.Errorf("company is %q", c.CompanyName)
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	path := file(t, `
listne: 127.0.0.1:1
throttle_public: many
smtp_url: {host: x}
`)
	blank := file(t, " \n")
	for name, test := range map[string]struct {
		in   config.Input
		want []string
	}{
		"reading": {
			in: config.Input{File: path, Environ: []string{
				"STEAD_DATABASEURL=postgres://a", "STEAD_DEMO=perhaps", "STEAD_JOB_WORKERS=0", "STEAD_ZZZZZZZZZ=1",
				"STEAD_MAX_BODY=1 apple", "STEAD_CLOCK_OFFSET=15 days", "STEAD_LOG_LEVEL=loud", "STEAD_TRUSTED_PROXIES=here",
				"STEAD_SECRET_KEY=a", "STEAD_SECRET_KEY_FILE=b", "STEAD_SMTP_URL_FILE=/no/such/file", "STEAD_DATABASE_URL_FILE=" + blank,
			}},
			want: []string{
				"listne in " + path + ": no such setting; did you mean listen in",
				"throttle_public in " + path + `: "many" is not a whole number`,
				"smtp_url in " + path + ": want a single value",
				"STEAD_DATABASEURL: no such setting; did you mean STEAD_DATABASE_URL?",
				"STEAD_DEMO: \"perhaps\" is neither",
				"STEAD_JOB_WORKERS: 0 is less than the minimum of 1",
				"STEAD_ZZZZZZZZZ: no such setting; `stead config` lists them",
				"STEAD_MAX_BODY: \"1 apple\" is not a size",
				"STEAD_CLOCK_OFFSET: \"15 days\" is not a duration",
				"STEAD_LOG_LEVEL: \"loud\" is not one of",
				"STEAD_TRUSTED_PROXIES: \"here\" is not a network",
				"STEAD_SECRET_KEY and STEAD_SECRET_KEY_FILE are both set",
				"STEAD_SMTP_URL_FILE: open /no/such/file",
				"STEAD_DATABASE_URL_FILE: " + blank + " is empty",
			},
		},
		"meaning": {
			in: config.Input{Environ: []string{
				"STEAD_LISTEN=8080", "STEAD_NODE_LISTEN=127.0.0.1:http", "STEAD_OPS_LISTEN=x:99999",
				"STEAD_BASE_URL=https://example.com/", "STEAD_NODE_URL=example.com", "STEAD_TLS_CERT_FILE=cert.pem",
				"STEAD_DATABASE_URL=mysql://user:hunter2@host/db", "STEAD_SMTP_URL=http://user:hunter2@host",
				"STEAD_STRIPE_SECRET_KEY=sk_hunter2", "STEAD_SUPPORT_EMAIL=nobody", "STEAD_DEFAULT_LANGUAGE=de",
				"STEAD_DEFAULT_CURRENCY=XAU", "STEAD_OTLP_ENDPOINT=grpc:4317", "STEAD_SHUTDOWN_TIMEOUT=-1s",
				"STEAD_SHUTDOWN_DELAY=-1s",
			}},
			want: []string{
				`listen: "8080" is not an address`, "node_listen: \"127.0.0.1:http\" has no port number",
				"ops_listen: \"x:99999\" has no port number", "base_url: \"https://example.com/\" must end after the host",
				"node_url: \"example.com\" is not an address", "tls_key_file: goes together with tls_cert_file",
				"database_url: is not a postgres:// address", "smtp_url: is not a smtp:// address", "mail_from: is required",
				"stripe_webhook_secret: goes together with stripe_secret_key", "support_email: \"nobody\" is not a mail",
				"default_language: \"de\" is not one of", "default_currency: \"XAU\" is not one of",
				"otlp_endpoint: \"grpc:4317\" is not an address", "shutdown_timeout: must not be negative",
				"shutdown_delay: must not be negative",
			},
		},
	} {
		_, err := config.Load(test.in)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not reported in:\n%v", name, want, err)
			}
		}
		if got := len(strings.Split(err.Error(), "\n")); got != len(test.want) {
			t.Errorf("%s: %d problems, want %d:\n%v", name, got, len(test.want), err)
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: a secret is quoted:\n%v", name, err)
		}
	}
}

func TestAnUnreadableFileIsAProblem(t *testing.T) {
	for name, path := range map[string]string{
		"missing":  filepath.Join(t.TempDir(), "missing.yaml"),
		"not YAML": file(t, "listen: [unclosed"),
		"twice":    file(t, "listen: a:1\nlisten: b:2"),
		"a list":   file(t, "- listen"),
	} {
		if _, err := config.Load(config.Input{File: path}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	load(t, config.Input{File: file(t, "")})
	load(t, config.Input{File: file(t, "support_email: null")})
}

func TestVariablesOfTestsAndOfKubernetesAreNotSettings(t *testing.T) {
	load(t, config.Input{Environ: []string{
		"STEAD_TEST_POSTGRES_URL=postgres://x", "STEAD_PORT=tcp://10.0.0.1:80", "STEAD_PORT_80_TCP=tcp://10.0.0.1:80",
		"STEAD_SERVICE_HOST=10.0.0.1", "STEADY=yes",
	}})
}

func TestSecretsMayBeFilesAndAreNeverShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(path, []byte("postgres://stead:hunter2@db/stead\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := load(t, config.Input{Environ: []string{"STEAD_DATABASE_URL_FILE=" + path}})
	if c.DatabaseURL.Reveal() != "postgres://stead:hunter2@db/stead" || c.SQLite() {
		t.Errorf("the file's value is %q", c.DatabaseURL.Reveal())
	}

	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	descriptions, err := json.Marshal(c.Describe())
	if err != nil {
		t.Fatal(err)
	}
	var table, logged strings.Builder
	if err := config.WriteTable(&table, c.Describe()); err != nil {
		t.Fatal(err)
	}
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("start", "config", c, "url", c.DatabaseURL)
	for where, text := range map[string]string{
		"JSON": string(encoded), "descriptions": string(descriptions), "table": table.String(), "log": logged.String(),
		"%v": fmt.Sprintf("%v", c), "%+v": fmt.Sprintf("%+v", c), "%#v": fmt.Sprintf("%#v", *c),
		"%q": fmt.Sprintf("%q", c.DatabaseURL),
	} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s shows the secret: %s", where, text)
		}
	}
}

func TestDescriptionsDocumentEverySetting(t *testing.T) {
	descriptions := load(t, config.Input{Environ: []string{"STEAD_STRIPE_SECRET_KEY=a", "STEAD_STRIPE_WEBHOOK_SECRET=b"}}).Describe()
	names := map[string]config.Description{}
	for _, d := range descriptions {
		if d.Meaning == "" || names[d.Name].Name != "" {
			t.Errorf("%s has no meaning or is listed twice", d.Name)
		}
		names[d.Name] = d
	}
	for name, want := range map[string]config.Description{
		"listen":            {Env: "STEAD_LISTEN", Default: "127.0.0.1:8080", Value: "127.0.0.1:8080", Source: "default"},
		"database_url":      {Env: "STEAD_DATABASE_URL", Value: "unset", Source: "default", Secret: true},
		"stripe_secret_key": {Env: "STEAD_STRIPE_SECRET_KEY", Value: "set", Source: "environment", Secret: true},
		"max_body":          {Env: "STEAD_MAX_BODY", Default: "1MiB", Value: "1MiB", Source: "default"},
	} {
		want.Name, want.Meaning = name, names[name].Meaning
		if names[name] != want {
			t.Errorf("%+v, want %+v", names[name], want)
		}
	}
	var table strings.Builder
	if err := config.WriteTable(&table, descriptions); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(table.String(), "\n"); lines != len(descriptions)+1 {
		t.Errorf("the table has %d lines for %d settings", lines, len(descriptions))
	}
	if !strings.Contains(table.String(), "STEAD_DATABASE_URL[_FILE]") {
		t.Error("the table does not tell that a secret may be a file")
	}
}

func TestALoadBalancerIsGivenTimeWhereThereIsOne(t *testing.T) {
	for settings, want := range map[string]time.Duration{
		"":                                 0,
		"STEAD_TRUSTED_PROXIES=10.0.0.0/8": 5 * time.Second,
		"STEAD_TRUSTED_PROXIES=10.0.0.0/8 STEAD_SHUTDOWN_DELAY=0s": 0,
		"STEAD_TRUSTED_PROXIES=10.0.0.0/8 STEAD_SHUTDOWN_DELAY=":   5 * time.Second,
		"STEAD_SHUTDOWN_DELAY=9s":                                  9 * time.Second,
	} {
		if got := load(t, config.Input{Environ: strings.Fields(settings)}).ShutdownDelay; got != want {
			t.Errorf("%s: %v, want %v", settings, got, want)
		}
	}
}

func TestAddressesFollowFromWhatIsListenedOn(t *testing.T) {
	for name, test := range map[string]struct {
		environ    []string
		base, node string
	}{
		"own certificate":  {[]string{"STEAD_TLS_CERT_FILE=c", "STEAD_TLS_KEY_FILE=k"}, "https://127.0.0.1:8080", "http://127.0.0.1:8081"},
		"public addresses": {[]string{"STEAD_BASE_URL=https://a.example", "STEAD_NODE_URL=http://b.example:81"}, "https://a.example", "http://b.example:81"},
		"any free port":    {[]string{"STEAD_LISTEN=127.0.0.1:0", "STEAD_NODE_LISTEN=127.0.0.1:0"}, "", ""},
		"all addresses":    {[]string{"STEAD_LISTEN=:9080", "STEAD_NODE_LISTEN=0.0.0.0:9081"}, "http://localhost:9080", "http://localhost:9081"},
		"all, by IPv6":     {[]string{"STEAD_LISTEN=[::]:9080", "STEAD_NODE_LISTEN=[::1]:9081"}, "http://localhost:9080", "http://[::1]:9081"},
		"no node":          {[]string{"STEAD_NODE_LISTEN=off", "STEAD_OPS_LISTEN=off"}, "http://127.0.0.1:8080", ""},
	} {
		c := load(t, config.Input{Environ: test.environ})
		if c.BaseURL != test.base || c.NodeURL != test.node {
			t.Errorf("%s: %q and %q, want %q and %q", name, c.BaseURL, c.NodeURL, test.base, test.node)
		}
	}
}

// A Linux machine's sites are where its web server listens, which is not STEAD_NODE_LISTEN.
func TestWhereALinuxMachineServesItsSites(t *testing.T) {
	for settings, want := range map[string]string{
		"":                            "http://127.0.0.1",
		"STEAD_NODE_PORTS=http=18090": "http://127.0.0.1:18090",
		"STEAD_NODE_IPV4=192.0.2.7 STEAD_NODE_IPV6=2001:db8::7":                        "http://192.0.2.7",
		"STEAD_NODE_IPV4=192.0.2.7 STEAD_NODE_HOST=192.0.2.9 STEAD_NODE_PORTS=http=81": "http://192.0.2.9:81",
		"STEAD_NODE_IPV4=192.0.2.8 STEAD_NODE_HOST=0.0.0.0":                            "http://192.0.2.8",
		"STEAD_NODE_IPV6=2001:db8::7":                                                  "http://[2001:db8::7]",
		"STEAD_NODE_IPV6=2001:db8::7 STEAD_NODE_PORTS=http=81":                         "http://[2001:db8::7]:81",
		"STEAD_NODE_LISTEN=off":                                                        "http://127.0.0.1", // of stead node
		"STEAD_NODE_URL=https://sites.example":                                         "https://sites.example",
	} {
		environ := append(strings.Fields(settings), "STEAD_NODE_MACHINE=linux")
		if got := load(t, config.Input{Environ: environ}).NodeURL; got != want {
			t.Errorf("%s: %s, want %s", settings, got, want)
		}
	}
}

func TestWhereCustomersDomainsPoint(t *testing.T) {
	for name, test := range map[string]struct {
		environ []string
		v4, v6  string
	}{
		"the default":       {nil, "127.0.0.1", ""},
		"a name":            {[]string{"STEAD_NODE_URL=https://node.example"}, "", ""},
		"an address":        {[]string{"STEAD_NODE_URL=http://[2001:db8::1]:81"}, "", "2001:db8::1"},
		"all addresses":     {[]string{"STEAD_NODE_LISTEN=0.0.0.0:80"}, "", ""},
		"settings":          {[]string{"STEAD_NODE_IPV4=192.0.2.1", "STEAD_NODE_IPV6=2001:db8::2"}, "192.0.2.1", "2001:db8::2"},
		"behind another IP": {[]string{"STEAD_NODE_URL=http://10.0.0.5", "STEAD_NODE_IPV4=192.0.2.1"}, "192.0.2.1", ""},
	} {
		if v4, v6 := load(t, config.Input{Environ: test.environ}).NodeAddresses(); v4 != test.v4 || v6 != test.v6 {
			t.Errorf("%s: %q and %q", name, v4, v6)
		}
	}
}

func TestSizesAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]config.Size{
		"0": 0, "17": 17, "17B": 17, "4KiB": 4096, "1 MiB": 1 << 20, "3GiB": 3 << 30,
	} {
		var got config.Size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", text, int64(got), err, int64(want))
		}
		var again config.Size
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != got {
			t.Errorf("%d is written %q, which reads as %d", int64(got), got, int64(again))
		}
	}
	for _, text := range []string{"", "-1", "1MB", "9999999999GiB", "MiB"} {
		var got config.Size
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was read as %d", text, int64(got))
		}
	}
}

func TestOwnHTTPSNeedsANameThatAnAuthorityCertifies(t *testing.T) {
	for name, c := range map[string]struct {
		settings map[string]string
		want     string // part of the error; empty: none
	}{
		"all there":       {map[string]string{"tls_acme": "true", "acme_email": "a@example.com", "base_url": "https://panel.example.com", "redirect_listen": ":80"}, ""},
		"nobody to write": {map[string]string{"tls_acme": "true", "base_url": "https://panel.example.com"}, "needs acme_email"},
		"no name":         {map[string]string{"tls_acme": "true", "acme_email": "a@example.com", "base_url": "https://192.0.2.1"}, "no authority gives"},
		"plain":           {map[string]string{"tls_acme": "true", "acme_email": "a@example.com", "base_url": "http://panel.example.com"}, "https://"},
		"an own file too": {map[string]string{"tls_acme": "true", "acme_email": "a@example.com", "base_url": "https://panel.example.com", "tls_cert_file": "c", "tls_key_file": "k"}, "instead of tls_cert_file"},
		"leads nowhere":   {map[string]string{"redirect_listen": ":80"}, "redirect_listen"},
	} {
		_, err := config.Load(config.Input{CommandLine: c.settings})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
