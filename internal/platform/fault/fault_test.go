package fault_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/fault"
)

func TestAFaultIsFoundInAnyChain(t *testing.T) {
	cause := fs.ErrNotExist
	for name, err := range map[string]error{
		"as it is":      fault.NotFound.Wrap(cause),
		"wrapped":       fmt.Errorf("read order 5: %w", fault.NotFound.Wrap(cause)),
		"joined":        errors.Join(errors.New("another"), fault.NotFound.Wrap(cause)),
		"its Def alone": fmt.Errorf("%w: %w", fault.NotFound, cause),
	} {
		f := fault.From(err)
		if f.Def != fault.NotFound || f.Def.Kind.Status() != http.StatusNotFound {
			t.Errorf("%s: %v", name, f.Def)
		}
		if !errors.Is(f, fault.NotFound) || !errors.Is(f, cause) || errors.Is(f, fault.Conflict) {
			t.Errorf("%s: errors.Is does not see the Def and the cause: %v", name, f)
		}
	}
}

func TestWhatIsNoFaultIsInternal(t *testing.T) {
	cause := errors.New("the disk is full")
	f := fault.From(fmt.Errorf("write: %w", cause))
	if f.Def != fault.Internal || !errors.Is(f, cause) || !strings.Contains(f.Error(), "the disk is full") {
		t.Errorf("%v", f)
	}
}

func TestEveryKindHasAStatus(t *testing.T) {
	for _, d := range fault.Defs() {
		if s := d.Kind.Status(); s < 400 || s > 599 {
			t.Errorf("%s has the status %d", d.Key, s)
		}
	}
}

func TestKeysAreUniqueAndSorted(t *testing.T) {
	defs := fault.Defs()
	for i := 1; i < len(defs); i++ {
		if defs[i-1].Key >= defs[i].Key {
			t.Errorf("%s stands before %s", defs[i-1].Key, defs[i].Key)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a key was defined twice")
		}
	}()
	fault.Define(fault.KindConflict, fault.NotFound.Key)
}

func TestAnInvalidMemberIsNamed(t *testing.T) {
	f := fault.From(fault.InvalidData("domain", "too_long", map[string]any{"Value": 63}))
	text := f.Invalid["domain"][0]
	if f.Def != fault.Validation || text.ID != "invalid.too_long" || text.Data["Value"] != 63 {
		t.Errorf("%+v", f)
	}
	if got := f.Error(); got != "validation_failed: [domain]" {
		t.Errorf("in the log: %s", got)
	}
}
