package admin

import (
	"testing"

	"stead.dev/stead/internal/port/panel"
)

func TestWhatIsWrongWithAnAccount(t *testing.T) {
	t.Parallel()
	here, elsewhere := located{id: 7, panel: "node:1", epoch: 2, live: true}, located{id: 7, panel: "node:2", epoch: 2, live: true}
	for name, c := range map[string]struct {
		of               panel.Resident
		service          located
		has, lookedAfter bool
		want             string
	}{
		"it serves":                           {panel.Resident{Epoch: 2}, here, true, false, ""},
		"no service":                          {panel.Resident{Epoch: 1}, located{}, false, false, UnknownAccount},
		"it arrives for a move":               {panel.Resident{Epoch: 3, Arriving: true}, elsewhere, true, false, ""},
		"it left after the backup":            {panel.Resident{Epoch: 2, Left: 3}, here, true, false, MovedAccount},
		"it left, a move removes the rest":    {panel.Resident{Epoch: 1, Left: 2}, elsewhere, true, true, ""},
		"it left, and nothing removes it":     {panel.Resident{Epoch: 1, Left: 2}, elsewhere, true, false, LeftAccount},
		"its move is about to have it let go": {panel.Resident{Epoch: 1}, elsewhere, true, true, ""},
		"it has not let go":                   {panel.Resident{Epoch: 1}, elsewhere, true, false, DoubleAccount},
		"it has a newer one in a move":        {panel.Resident{Epoch: 3}, elsewhere, true, true, DoubleAccount},
	} {
		if got := kindOf(c.of, "node:1", c.service, c.has, c.lookedAfter); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestNoMachineGetsAServiceByItsWordAlone: what a node that is in somebody else's hands says of itself changes nothing.
func TestNoMachineGetsAServiceByItsWordAlone(t *testing.T) {
	t.Parallel()
	on := located{id: 7, panel: "node:1", epoch: 1, live: true}
	moved := Disagreement{Kind: MovedAccount, panel: "node:1", since: "node:2", Since: "two", sinceEpoch: 2, Epoch: 2, service: on}
	nobodys := moved
	nobodys.since, nobodys.Since = "", ""
	claimed := Disagreement{Kind: DoubleAccount, Node: "two", Service: "one", panel: "node:2", Epoch: 9, service: on, alone: true}
	older, shared := claimed, claimed
	older.Epoch, shared.alone = 1, false
	for name, c := range map[string]struct {
		of      Disagreement
		trusted string
		silent  []string
		want    bool
	}{
		"both say so":                             {moved, "", nil, true},
		"another machine is silent":               {moved, "", []string{"three"}, false},
		"it is, and the node is trusted":          {moved, "two", []string{"three"}, true},
		"it is, and another node is trusted":      {moved, "four", []string{"three"}, false},
		"nobody has it":                           {nobodys, "", nil, false},
		"one claims it":                           {claimed, "", nil, false},
		"one claims it, though trusted":           {claimed, "two", nil, false},
		"one claims it from a dead machine":       {claimed, "", []string{"one"}, false},
		"a trusted one has it of a dead machine":  {claimed, "two", []string{"one"}, true},
		"a trusted one has what is older":         {older, "two", []string{"one"}, false},
		"a trusted one has what another has, too": {shared, "two", []string{"one"}, false},
	} {
		if from, to, epoch, ok := c.of.follows(c.trusted, c.silent); ok != c.want || ok && (from != "node:1" || to != "node:2" || epoch != c.of.Epoch) {
			t.Errorf("%s: %s to %s in %d, %v; want %v", name, from, to, epoch, ok, c.want)
		}
	}
}
