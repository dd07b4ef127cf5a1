package upgrade

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/remote"
)

const platform = runtime.GOOS + "/" + runtime.GOARCH

// program is a program that says its version.
func program(version string) string {
	return fmt.Sprintf("#!/bin/sh\necho '{\"version\": %q, \"platform\": %q}'\n", version, platform)
}

// described describes a program as the control plane does.
func described(version, content string) remote.Program {
	sum := sha256.Sum256([]byte(content))
	return remote.Program{Version: version, Platform: platform, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

// machine is a folder with the program of an agent.
type machine struct {
	t    *testing.T
	path string
	// runs is the program that the process has become last.
	runs string
}

func newMachine(t *testing.T, version string) *machine {
	t.Helper()
	m := &machine{t: t, path: filepath.Join(t.TempDir(), "stead")}
	if err := os.WriteFile(m.path, []byte(program(version)), 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}

// start is a process of the program, which says that it is of a version.
func (m *machine) start(version string) (*Program, context.Context) {
	m.t.Helper()
	p := &Program{
		Allowed: true, path: m.path, version: version, log: slog.New(slog.DiscardHandler), patience: time.Hour,
		owner: func(context.Context, string) (string, error) { return "", nil },
		become: func(path string, _, _ []string) error {
			content, err := os.ReadFile(path)
			m.runs = string(content)
			return errors.Join(errBecame, err)
		},
	}
	ctx, err := p.begin(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return p, ctx
}

var errBecame = errors.New("it would run now")

// has checks which program has the name, and which other files there are.
func (m *machine) has(version string, others ...string) {
	m.t.Helper()
	content, err := os.ReadFile(m.path)
	if err != nil || string(content) != program(version) {
		m.t.Errorf("the program is %q, %v; want %s", content, err, version)
	}
	for _, suffix := range []string{".new", ".former", ".trial"} {
		_, err := os.Stat(m.path + suffix)
		if want := strings.Contains(strings.Join(others, " "), suffix); want == errors.Is(err, fs.ErrNotExist) {
			m.t.Errorf("%s: %v", suffix, err)
		}
	}
}

// upgraded is a machine whose program of v1 was just exchanged for one of v2.
func upgraded(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t, "v1.0.0")
	p, ctx := m.start("v1.0.0")
	if err := p.Take(t.Context(), described("v2.0.0", program("v2.0.0")), strings.NewReader(program("v2.0.0"))); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() == nil {
		t.Error("the agent is not told to end")
	}
	m.has("v2.0.0", ".former", ".trial")
	if err := p.End(nil, nil, nil); !errors.Is(err, errBecame) || m.runs != program("v2.0.0") {
		t.Fatalf("the process becomes %q: %v", m.runs, err)
	}
	m.runs = ""
	return m
}

func TestAProgramThatTheControlPlaneHearsStays(t *testing.T) {
	m := upgraded(t)
	p, ctx := m.start("v2.0.0")
	m.has("v2.0.0", ".former", ".trial")
	if err := p.Take(t.Context(), described("v3.0.0", program("v3.0.0")), strings.NewReader(program("v3.0.0"))); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("a program on trial takes another one: %v", err)
	}
	p.Proven()
	p.Proven()
	m.has("v2.0.0", ".former")
	lost := errors.New("the network is gone")
	if err := p.End(lost, nil, nil); !errors.Is(err, lost) || ctx.Err() == nil || m.runs != "" {
		t.Errorf("a later end: %v, it became %q", err, m.runs)
	}
	m.start("v2.0.0")
	m.has("v2.0.0", ".former")
}

func TestAProgramThatIsNotProvenGivesItsPlaceBack(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, m *machine) *Program{
		"it ends with an error": func(_ *testing.T, m *machine) *Program {
			p, _ := m.start("v2.0.0")
			return p
		},
		"it dies": func(t *testing.T, m *machine) *Program {
			m.start("v2.0.0")
			p, ctx := m.start("v2.0.0")
			if ctx.Err() == nil {
				t.Error("it works on")
			}
			return p
		},
		"it is not heard": func(t *testing.T, m *machine) *Program {
			p, ctx := m.start("v2.0.0")
			p.late.Reset(0)
			testkit.Eventually(t, time.Minute, func() bool { return ctx.Err() != nil }, "the agent is told to end")
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := upgraded(t)
			p := run(t, m)
			if err := p.End(errors.New("it cannot serve"), nil, nil); !errors.Is(err, errBecame) || m.runs != program("v1.0.0") {
				t.Errorf("the process becomes %q: %v", m.runs, err)
			}
			m.has("v1.0.0")
			p, ctx := m.start("v1.0.0")
			if err := p.End(nil, nil, nil); err != nil || ctx.Err() == nil {
				t.Errorf("the former program: %v", err)
			}
		})
	}
}

func TestAStopDuringTheTrialIsNoFailure(t *testing.T) {
	m := upgraded(t)
	p, _ := m.start("v2.0.0")
	stopped, stop := context.WithCancel(t.Context())
	p.asked = stopped
	stop()
	lost := errors.New("a call did not end in time")
	if err := p.End(lost, nil, nil); !errors.Is(err, lost) || m.runs != "" {
		t.Errorf("the stop: %v, it became %q", err, m.runs)
	}
	m.has("v2.0.0", ".former", ".trial")
	p, _ = m.start("v2.0.0")
	p.Proven()
	m.has("v2.0.0", ".former")
}

func TestAnExchangeThatWasCutOffIsForgotten(t *testing.T) {
	for name, left := range map[string]string{"before the new name": `{"version": "v2.0.0"}`, "damaged": `{"ver`} {
		m := newMachine(t, "v1.0.0")
		if err := os.WriteFile(m.path+".trial", []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ctx := m.start("v1.0.0"); ctx.Err() != nil {
			t.Errorf("%s: the agent ends", name)
		}
		m.has("v1.0.0")
	}
}

func TestAProgramIsRefused(t *testing.T) {
	good := program("v2.0.0")
	for name, test := range map[string]struct {
		change  func(p *Program, want *remote.Program)
		content string
		kind    panel.Kind
	}{
		"not allowed":      {func(p *Program, _ *remote.Program) { p.Allowed = false }, good, remote.ErrUpgradeOff},
		"another platform": {func(_ *Program, want *remote.Program) { want.Platform = "plan9/mips" }, good, remote.ErrUpgradePlatform},
		"older":            {func(p *Program, _ *remote.Program) { p.version = "v2.0.1" }, good, remote.ErrUpgradeNotNewer},
		"the same":         {func(p *Program, _ *remote.Program) { p.version = "v2.0.0" }, good, remote.ErrUpgradeNotNewer},
		"no release":       {func(_ *Program, want *remote.Program) { want.Version = "dev" }, good, remote.ErrUpgradeNotNewer},
		"too large":        {func(_ *Program, want *remote.Program) { want.Size = maxSize + 1 }, good, panel.ErrInvalid},
		"no size":          {func(_ *Program, want *remote.Program) { want.Size = 0 }, good, panel.ErrInvalid},
		"a package's": {func(p *Program, _ *remote.Program) {
			p.owner = func(context.Context, string) (string, error) { return "dpkg-query", nil }
		}, good, remote.ErrUpgradePackaged},
		"owner not known": {func(p *Program, _ *remote.Program) {
			p.owner = func(context.Context, string) (string, error) { return "", fs.ErrInvalid }
		}, good, panel.ErrInternal},
		"no folder to write":  {func(p *Program, _ *remote.Program) { p.path = "/proc/self/stead" }, good, remote.ErrUpgradePackaged},
		"another sum":         {func(_ *Program, want *remote.Program) { want.SHA256 = strings.Repeat("0", 64) }, good, remote.ErrUpgradeBroken},
		"cut off":             {nil, good[:len(good)-1], remote.ErrUpgradeBroken},
		"longer":              {nil, good + "\n", remote.ErrUpgradeBroken},
		"says another number": {func(_ *Program, want *remote.Program) { *want = described("v2.0.0", program("v3.0.0")) }, program("v3.0.0"), remote.ErrUpgradeBroken},
		"does not start":      {func(_ *Program, want *remote.Program) { *want = described("v2.0.0", "#!/bin/sh\nexit 1\n") }, "#!/bin/sh\nexit 1\n", remote.ErrUpgradeBroken},
		"no program":          {func(_ *Program, want *remote.Program) { *want = described("v2.0.0", "text") }, "text", remote.ErrUpgradeBroken},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, "v1.0.0")
			p, ctx := m.start("v1.0.0")
			want := described("v2.0.0", good)
			if test.change != nil {
				test.change(p, &want)
			}
			if err := p.Take(t.Context(), want, strings.NewReader(test.content)); panel.KindOf(err) != test.kind {
				t.Errorf("%v, want %s", err, test.kind)
			}
			if ctx.Err() != nil {
				t.Error("the agent ends")
			}
			m.has("v1.0.0")
		})
	}
}

func TestProgramsOfPackagesAreKnown(t *testing.T) {
	if owner, err := packageManager(t.Context(), "/usr/bin/dpkg-query"); err != nil || owner != "dpkg-query" {
		t.Errorf("dpkg's own program is of %q: %v", owner, err)
	}
	if owner, err := packageManager(t.Context(), filepath.Join(t.TempDir(), "stead")); err != nil || owner != "" {
		t.Errorf("a file of nobody is of %q: %v", owner, err)
	}
}
