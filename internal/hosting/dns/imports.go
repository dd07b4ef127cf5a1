package dns

import (
	"errors"
	"strings"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/nameserver"
)

// skipped is a record of a zone file that need not be added.
type skipped struct {
	fields
	why string // soa, system_record, duplicate or type_unsupported
}

// refused is a record that cannot be added.
type refused struct {
	fields
	why *fault.Error
}

// plan is what an import would do.
type plan struct {
	add     []fields
	skipped []skipped
	refused []refused
}

// readBIND reads a zone file into the wishes that are in it. Names are absolute.
func readBIND(text, zone string) ([]nameserver.Record, error) {
	records, err := nameserver.ParseFile(text, zone, defaultTTL, maxRecords)
	var syntax *nameserver.SyntaxError
	switch {
	case errors.Is(err, nameserver.ErrTooMany):
		return nil, fault.LimitReached.Wrap(err)
	case errors.As(err, &syntax):
		return nil, invalid("bind", "bind", map[string]any{"line": syntax.Line})
	}
	return records, err
}

// planImport sorts the records of a zone file into those to add and the others.
// Each is judged with those before it already added.
func planImport(zone string, all []record, file []nameserver.Record) plan {
	var p plan
	for _, r := range file {
		f := fields{name: r.Name + ".", kind: Type(r.Type), value: r.Data, ttl: min(max(int(r.TTL), minTTL), maxTTL)}
		form, known := forms[f.kind]
		switch {
		case r.Type == "SOA":
			p.skip(f, "soa")
			continue
		case f.kind == NS && r.Name == zone:
			p.skip(f, "system_record")
			continue
		case !known:
			p.skip(f, "type_unsupported")
			continue
		}
		if !form.read(&f, r.Data) {
			p.refuse(f, invalid("value", "unreadable", nil))
			continue
		}
		p.consider(zone, &all, f)
	}
	return p
}

// consider adds one wish to the plan, and to all when nothing is against it.
func (p *plan) consider(zone string, all *[]record, f fields) {
	parsed, err := f.parse(zone)
	if err != nil {
		p.refuse(f, err)
		return
	}
	r := record{fields: parsed}
	switch c := conflict(zone, *all, r); {
	case c == nil:
		p.add = append(p.add, parsed)
		*all = append(*all, r)
	case c.reason == "duplicate":
		p.skip(parsed, "duplicate")
	default:
		p.refuse(parsed, c.refusal())
	}
}

func (p *plan) skip(f fields, why string) {
	f.name = strings.TrimSuffix(f.name, ".")
	p.skipped = append(p.skipped, skipped{f, why})
}

func (p *plan) refuse(f fields, err error) {
	f.name = strings.TrimSuffix(f.name, ".")
	p.refused = append(p.refused, refused{f, fault.From(err)})
}
