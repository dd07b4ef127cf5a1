package e2e

import (
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// TestAServerWaitsForADatabaseThatStartsLater, as machines and containers do after a power failure; one that refuses it is not waited
// for, and commands wait for none.
func TestAServerWaitsForADatabaseThatStartsLater(t *testing.T) {
	t.Parallel()
	database, err := url.Parse(testkit.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	there := database.Host
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	later := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	database.Host = later
	in := newInstallation(t, "STEAD_DATABASE_URL="+database.String())
	if _, stderr, code := in.run(t, "admin", "users", "list"); code != 1 || strings.Contains(stderr, "waiting for the database") {
		t.Errorf("a command: exit code %d\n%s", code, stderr)
	}
	p := in.start(t)
	testkit.Eventually(t, time.Minute, func() bool { return strings.Contains(p.logged(), "waiting for the database") }, "the server waits")
	if listener, err = net.Listen("tcp", later); err != nil {
		t.Fatal(err)
	}
	forward(t, listener, func() (net.Conn, error) { return net.Dial("tcp", there) })
	testkit.Eventually(t, time.Minute, func() bool { return strings.Contains(p.logged(), `"msg":"serving"`) }, "the server serves")
	p.terminate(t)
	p.ends(t)

	database.Host = there
	query := database.Query()
	query.Set("dbname", "stead_no_such_database")
	database.RawQuery = query.Encode()
	refused := newInstallation(t, "STEAD_DATABASE_URL="+database.String())
	if _, stderr, code := refused.run(t, "serve"); code != 1 || strings.Contains(stderr, "waiting for the database") {
		t.Errorf("a database that does not exist: exit code %d\n%s", code, stderr)
	}
}
