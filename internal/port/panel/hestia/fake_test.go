package hestia

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const testKey = "ABCDEFGHIJKLMNOPQRST:abcdefghijklmnopqrstuvwxyz0123456789ABCD"

// server answers as web/api/index.php of HestiaCP 1.9 does for an access key, and as the commands do
// that this adapter uses (bin/v-*, func/main.sh, func/domain.sh there): their checks in their order,
// their codes, their JSON.
type server struct {
	t   *testing.T
	url string
	tls *http.Client

	mu       sync.Mutex
	users    map[string]map[string]string            // v-list-user's members
	domains  map[string]map[string]map[string]string // of a user, v-list-web-domain's members
	packages map[string]string
	cron     map[string]map[string]map[string]string // of a user, by number
	dbs      map[string]map[string]map[string]string // of a user, by name
	files    map[string]string
	calls    []string       // commands in the order in which they came
	broken   map[string]int // codes that commands answer instead
	number   int            // of the last cron job
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{
		t: t, users: map[string]map[string]string{"admin": {"NAME": "System Administrator", "SUSPENDED": "no"}}, domains: map[string]map[string]map[string]string{},
		packages: map[string]string{"default": ""}, cron: map[string]map[string]map[string]string{}, dbs: map[string]map[string]map[string]string{}, files: map[string]string{}, broken: map[string]int{},
	}
	srv := httptest.NewTLSServer(http.HandlerFunc(s.api))
	t.Cleanup(srv.Close)
	s.url, s.tls = srv.URL, srv.Client()
	return s
}

func (s *server) open(t *testing.T) *Panel {
	t.Helper()
	transport, _ := s.tls.Transport.(*http.Transport)
	p, err := New(Config{URL: s.url, AccessKey: testKey, TLS: transport.TLSClientConfig, Location: "tas", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s *server) api(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/api/" || r.ParseForm() != nil {
		http.NotFound(w, r)
		return
	}
	fail := func(code int, text string) { // api_error
		w.Header().Set("Hestia-Exit-Code", strconv.Itoa(code))
		w.WriteHeader(http.StatusUnauthorized)
		if r.PostForm.Get("returncode") == "yes" {
			_, _ = fmt.Fprint(w, code)
		} else {
			_, _ = fmt.Fprint(w, "Error: "+text)
		}
	}
	if r.PostForm.Get("hash") != testKey {
		fail(9, "authentication failed")
		return
	}
	var args []string
	for i := 1; i <= 13 && r.PostForm.Has("arg"+strconv.Itoa(i)); i++ {
		args = append(args, strings.TrimSpace(r.PostForm.Get("arg"+strconv.Itoa(i))))
	}
	cmd := r.PostForm.Get("cmd")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, cmd)
	code, out := s.run(cmd, args)
	if forced, ok := s.broken[cmd]; ok {
		code = forced
	}
	w.Header().Set("Hestia-Exit-Code", strconv.Itoa(code))
	switch {
	case r.PostForm.Get("returncode") == "yes":
		_, _ = fmt.Fprint(w, code)
	case code > 0:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, "Error: "+cmd)
	default:
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(out)
	}
}

var (
	userFormat   = regexp.MustCompile(`^[A-Za-z0-9][-|._A-Za-z0-9]{0,28}[A-Za-z0-9]$`)
	objectFormat = regexp.MustCompile(`^[A-Za-z0-9][-|._A-Za-z0-9]{0,64}[A-Za-z0-9]$`)
)

func arg(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}

// run does a command with the lock held.
func (s *server) run(cmd string, args []string) (code int, out any) {
	u := s.users[arg(args, 0)]
	d := s.domains[arg(args, 0)][arg(args, 1)]
	needUser := func() int {
		switch {
		case u == nil:
			return 3
		case u["SUSPENDED"] == "yes":
			return 5
		}
		return 0
	}
	needDomain := func() int {
		if code := needUser(); code != 0 {
			return code
		}
		if d == nil {
			return 3
		}
		return 0
	}
	switch cmd {
	case "v-make-tmp-file":
		s.files["/tmp/"+arg(args, 1)] = arg(args, 0)
	case "v-add-user-package":
		content, ok := s.files[arg(args, 0)]
		_, taken := s.packages[arg(args, 1)]
		switch {
		case !objectFormat.MatchString(arg(args, 1)):
			return 2, nil
		case taken:
			return 4, nil
		case !ok:
			return 3, nil
		}
		s.packages[arg(args, 1)] = content
	case "v-list-user-package":
		content, ok := s.packages[arg(args, 0)]
		if !ok {
			return 3, nil
		}
		return 0, map[string]any{arg(args, 0): map[string]string{"WEB_DOMAINS": content}}
	case "v-add-user":
		_, known := s.packages[arg(args, 3)]
		switch {
		case !userFormat.MatchString(arg(args, 0)) || strings.ContainsAny(arg(args, 4), `'|"<>`) || len(arg(args, 1)) < 6:
			return 2, nil
		case u != nil:
			return 4, nil
		case !known:
			return 3, nil
		}
		s.users[args[0]] = map[string]string{
			"NAME": arg(args, 4), "PACKAGE": arg(args, 3), "CONTACT": arg(args, 2), "SUSPENDED": "no", "U_DISK": "3", "U_BANDWIDTH": "7",
			"NS": "ns1.hestia.example,ns2.hestia.example", "TIME": "09:00:00", "DATE": "2026-03-02",
		}
		s.domains[args[0]] = map[string]map[string]string{}
		s.cron[args[0]], s.dbs[args[0]] = map[string]map[string]string{}, map[string]map[string]string{}
	case "v-list-user":
		if u == nil {
			return 3, nil
		}
		u["U_WEB_DOMAINS"] = strconv.Itoa(len(s.domains[args[0]]))
		return 0, map[string]any{args[0]: u}
	case "v-list-users":
		return 0, s.users
	case "v-delete-user":
		if u == nil {
			return 3, nil
		}
		delete(s.users, args[0])
		delete(s.domains, args[0])
	case "v-suspend-user":
		if code := needUser(); code != 0 {
			return code, nil
		}
		u["SUSPENDED"] = "yes"
	case "v-unsuspend-user":
		switch {
		case u == nil:
			return 3, nil
		case u["SUSPENDED"] == "no":
			return 6, nil
		}
		u["SUSPENDED"] = "no"
	case "v-change-user-package":
		if code := needUser(); code != 0 {
			return code, nil
		}
		if _, ok := s.packages[arg(args, 1)]; !ok {
			return 3, nil
		}
		u["PACKAGE"] = args[1]
	case "v-change-user-name":
		if code := needUser(); code != 0 {
			return code, nil
		}
		u["NAME"] = arg(args, 1)
	case "v-add-web-domain":
		if code := needUser(); code != 0 {
			return code, nil
		}
		if most := regexp.MustCompile(`WEB_DOMAINS='(\d+)'`).FindStringSubmatch(s.packages[u["PACKAGE"]]); most != nil {
			if n, err := strconv.Atoi(most[1]); err == nil && len(s.domains[args[0]]) >= n {
				return 8, nil // is_package_full stands before is_domain_new
			}
		}
		for _, all := range s.domains {
			if all[args[1]] != nil {
				return 4, nil
			}
		}
		s.domains[args[0]][args[1]] = map[string]string{
			"IP": "192.0.2.10", "IP6": "", "DOCUMENT_ROOT": "/home/" + args[0] + "/web/" + args[1] + "/public_html/", "SSL": "no", "SSL_FORCE": "",
			"REDIRECT": "", "CUSTOM_DOCROOT": "", "SUSPENDED": "no",
		}
	case "v-list-web-domains":
		if u == nil {
			return 3, nil
		}
		return 0, s.domains[args[0]]
	case "v-list-web-domain":
		if u == nil || d == nil {
			return 3, nil
		}
		return 0, map[string]any{args[1]: d}
	case "v-delete-web-domain":
		if u == nil || d == nil {
			return 3, nil
		}
		delete(s.domains[args[0]], args[1])
	case "v-add-web-domain-redirect":
		if code := needDomain(); code != 0 {
			return code, nil
		}
		d["REDIRECT"] = arg(args, 2)
	case "v-delete-web-domain-redirect":
		if code := needDomain(); code != 0 {
			return code, nil
		}
		d["REDIRECT"] = ""
	case "v-add-web-domain-ssl-force":
		if code := needDomain(); code != 0 {
			return code, nil
		}
		if d["SSL"] != "yes" {
			return 3, nil
		}
		d["SSL_FORCE"] = "yes"
	case "v-delete-web-domain-ssl-force":
		d["SSL_FORCE"] = ""
	case "v-list-cron-jobs":
		if u == nil {
			return 3, nil
		}
		return 0, s.cron[args[0]]
	case "v-add-cron-job":
		if code := needUser(); code != 0 {
			return code, nil
		}
		if strings.ContainsAny(arg(args, 6), "`\n") || len(args) != 7 {
			return 2, nil
		}
		s.number++
		s.cron[args[0]][strconv.Itoa(s.number)] = map[string]string{
			"MIN": args[1], "HOUR": args[2], "DAY": args[3], "MONTH": args[4], "WDAY": args[5], "CMD": args[6], "SUSPENDED": "no",
		}
	case "v-delete-cron-job", "v-suspend-cron-job":
		job := s.cron[arg(args, 0)][arg(args, 1)]
		switch {
		case u == nil || job == nil:
			return 3, nil
		case cmd == "v-delete-cron-job":
			delete(s.cron[args[0]], args[1])
		case job["SUSPENDED"] == "yes":
			return 5, nil
		default:
			job["SUSPENDED"] = "yes"
		}
	case "v-list-database-types":
		return 0, []string{"mysql", "pgsql"}
	case "v-list-databases":
		if u == nil {
			return 3, nil
		}
		return 0, s.dbs[args[0]]
	case "v-add-database":
		if code := needUser(); code != 0 {
			return code, nil
		}
		name := args[0] + "_" + args[1]
		if s.dbs[args[0]][name] != nil {
			return 4, nil
		}
		s.dbs[args[0]][name] = map[string]string{
			"DATABASE": name, "DBUSER": args[0] + "_" + args[2], "HOST": "localhost", "TYPE": args[4], "CHARSET": args[6], "U_DISK": "2", "password": args[3],
		}
	case "v-change-database-password", "v-delete-database":
		d := s.dbs[arg(args, 0)][arg(args, 1)]
		switch {
		case u == nil || d == nil:
			return 3, nil
		case cmd == "v-delete-database":
			delete(s.dbs[args[0]], args[1])
		case u["SUSPENDED"] == "yes":
			return 5, nil
		default:
			d["password"] = args[2]
		}
	case "v-add-fs-directory":
		if u == nil {
			return 3, nil
		}
		if !strings.HasPrefix(arg(args, 1), "/home/"+args[0]+"/") {
			return 2, nil
		}
		s.files[arg(args, 1)] = "directory"
	case "v-change-web-domain-docroot":
		if code := needDomain(); code != 0 {
			return code, nil
		}
		if args[2] == "default" {
			d["CUSTOM_DOCROOT"] = ""
			return 0, nil
		}
		root := "/home/" + args[0] + "/web/" + args[2] + "/public_html/"
		if s.domains[args[0]][args[2]] == nil {
			return 3, nil
		}
		if dir := arg(args, 3); dir != "" {
			root = strings.TrimSuffix(root, "/") + "/" + dir
			if s.files[root] == "" {
				return 3, nil
			}
		}
		d["CUSTOM_DOCROOT"] = root
	default:
		s.t.Errorf("no such command: %s", cmd)
		return 2, nil
	}
	return 0, nil
}
