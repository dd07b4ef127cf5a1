package admin

import "testing"

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
