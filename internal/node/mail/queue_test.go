package mail

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWhatWaitsIsCounted(t *testing.T) {
	t.Parallel()
	d := &Driver{cfg: Config{Dir: t.TempDir()}}
	if n, err := d.Queued(); n != 0 || err != nil {
		t.Errorf("before Postfix has run: %d, %v", n, err)
	}
	for _, name := range []string{"deferred/A/A1", "deferred/B/B1", "active/C1", "defer/A/A1", "bounce/A/A1", "pid/master.pid"} {
		path := filepath.Join(d.cfg.queue(), name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, nil, 0o600))
	}
	if n, err := d.Queued(); n != 3 || err != nil {
		t.Errorf("%d messages, %v; want 3, without the logs of their deliveries", n, err)
	}
}
