package dns

import (
	"stead.dev/stead/internal/platform/fault"
)

var (
	errInvalid  = fault.Define(fault.KindUnprocessable, "dns_record_invalid")
	errConflict = fault.Define(fault.KindUnprocessable, "dns_record_conflict")
)

// invalid refuses a record for one of its members. The reason is public; its text is
// in the catalogue as invalid.dns_<reason>.
func invalid(field, reason string, data map[string]any) error {
	return &fault.Error{
		Def: errInvalid, Fields: fault.Fields{"field": field, "reason": reason}, Invalid: texts(field, reason, data),
	}
}

// clash is why a record cannot be beside the others.
type clash struct {
	reason string
	with   *record // nil: it is at odds with the zone itself
}

func (c *clash) refusal() error {
	return &fault.Error{
		Def: errConflict, Fields: fault.Fields{"reason": c.reason, "conflicts_with": c.other()},
		Invalid: texts("name", c.reason, c.data()),
	}
}

// data is for the text of the reason.
func (c *clash) data() map[string]any {
	if c.with == nil {
		return nil
	}
	return map[string]any{"name": c.with.name, "type": c.with.kind, "value": c.with.value}
}

// other is the record that is in the way, on the wire.
func (c *clash) other() *otherWire {
	if c.with == nil {
		return nil
	}
	w := &otherWire{Name: c.with.name, Type: c.with.kind, Value: c.with.value}
	if c.with.id != 0 {
		w.ID = &c.with.id
	}
	return w
}

func texts(field, reason string, data map[string]any) map[string][]fault.Text {
	return map[string][]fault.Text{field: {{ID: "invalid.dns_" + reason, Data: data}}}
}
