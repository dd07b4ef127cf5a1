package customer

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	stead "stead.dev/stead/sdk/go"
)

// collect reads a list to its end; it is empty and not nil when there is nothing, so that --json prints [].
func collect[T any](items iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// AllRecords returns the records of a zone of a service.
func (s *Session) AllRecords(ctx context.Context, service int64, query stead.DNSQuery) ([]stead.DNSRecord, error) {
	query.PerPage = 50
	return collect(s.DNS.All(ctx, service, query))
}

// Record is a value of a record as a zone file has it, with the numbers in fields of their own.
type Record struct {
	Value                         string
	Priority, Weight, Port, Flags *int64
	Tag                           *string
}

// ParseRecord reads a value as zone files have it: "10 mail.example.com" of MX, "0 issue letsencrypt.org" of CAA, "10 5 443 host" of SRV.
func ParseRecord(kind, text string) (Record, error) {
	var r Record
	numbers := map[string][]**int64{"MX": {&r.Priority}, "SRV": {&r.Priority, &r.Weight, &r.Port}, "CAA": {&r.Flags}}[kind]
	words := strings.Fields(text)
	wanted := len(numbers) + 1
	if kind == "CAA" {
		wanted++
	}
	if wanted == 1 {
		r.Value = text
		return r, nil
	}
	form := map[string]string{
		"MX": "10 mail.example.com", "SRV": "10 5 443 host.example.com", "CAA": "0 issue letsencrypt.org",
	}[kind]
	wrong := &UsageError{fmt.Sprintf("the value of %s is like %q", kind, form)}
	if len(words) < wanted || kind != "CAA" && len(words) > wanted {
		return r, wrong
	}
	for i, to := range numbers {
		n, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil {
			return r, wrong
		}
		*to = &n
	}
	rest := words[len(numbers):]
	if kind == "CAA" {
		r.Tag, rest = &rest[0], rest[1:]
	}
	r.Value = strings.Trim(strings.Join(rest, " "), `"`)
	return r, nil
}

// is reports whether a record has this value.
func (r Record) is(other stead.DNSRecord) bool {
	return same(r.Priority, other.Priority) && same(r.Weight, other.Weight) && same(r.Port, other.Port) && same(r.Flags, other.Flags) &&
		same(r.Tag, other.Tag) && strings.TrimSuffix(r.Value, ".") == strings.TrimSuffix(other.Value, ".")
}

// same reports whether two values are equal, or both absent.
func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Changes are what a command did to records.
type Changes struct {
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Deleted   int `json:"deleted"`
}

// SetRecords makes the records of a name and a type those with the values, in a zone of the service: that of its primary domain
// when zone is empty. Records of the platform stay; where one of the customer's takes the place of one, the platform withdraws
// it. Values are changed in place where that is possible, so the name always has one.
func (s *Session) SetRecords(ctx context.Context, service int64, zone, name, kind string, values []Record, ttl int64) (Changes, error) {
	var c Changes
	there, err := s.own(ctx, service, zone, name, kind)
	if err != nil {
		return c, err
	}
	var lifetime *int64
	if ttl != 0 {
		lifetime = &ttl
	}
	var missing []Record
	for _, v := range values {
		at := -1
		for i, r := range there {
			if v.is(r) {
				at = i
				break
			}
		}
		if at < 0 {
			missing = append(missing, v)
			continue
		}
		r := there[at]
		there = append(there[:at:at], there[at+1:]...)
		if !r.Disabled && (ttl == 0 || r.TTL == ttl) {
			c.Unchanged++
			continue
		}
		if _, err := s.DNS.Update(ctx, service, r.ID, stead.DNSUpdateBody{TTL: lifetime, Disabled: stead.Ptr(false)}); err != nil {
			return c, err
		}
		c.Changed++
	}
	for _, v := range missing {
		if len(there) > 0 {
			_, err = s.DNS.Update(ctx, service, there[0].ID, stead.DNSUpdateBody{
				Value: &v.Value, Priority: v.Priority, Weight: v.Weight, Port: v.Port, Flags: v.Flags, Tag: v.Tag, TTL: lifetime, Disabled: stead.Ptr(false),
			})
			there = there[1:]
			c.Changed++
		} else {
			_, err = s.DNS.Create(ctx, service, stead.DNSCreateBody{
				Name: &name, Type: &kind, Value: &v.Value, Priority: v.Priority, Weight: v.Weight, Port: v.Port, Flags: v.Flags, Tag: v.Tag, TTL: lifetime,
			}, stead.DNSCreateQuery{Zone: zone})
			c.Added++
		}
		if err != nil {
			return c, err
		}
	}
	for _, r := range there {
		if err := s.DNS.Delete(ctx, service, r.ID); err != nil {
			return c, err
		}
		c.Deleted++
	}
	return c, nil
}

// DeleteRecords deletes the customer's records of a name and a type; with a value only that one.
func (s *Session) DeleteRecords(ctx context.Context, service int64, zone, name, kind string, value *Record) (Changes, error) {
	var c Changes
	there, err := s.own(ctx, service, zone, name, kind)
	if err != nil {
		return c, err
	}
	for _, r := range there {
		if value != nil && !value.is(r) {
			c.Unchanged++
			continue
		}
		if err := s.DNS.Delete(ctx, service, r.ID); err != nil {
			return c, err
		}
		c.Deleted++
	}
	if c.Deleted == 0 {
		return c, notFound("there is no such %s record of %s that can be deleted (stead dns list shows all)", kind, name)
	}
	return c, nil
}

// own returns the records of a name and a type that can be changed.
func (s *Session) own(ctx context.Context, service int64, zone, name, kind string) ([]stead.DNSRecord, error) {
	all, err := s.AllRecords(ctx, service, stead.DNSQuery{Zone: zone, Name: name, Type: kind})
	if err != nil {
		return nil, err
	}
	var own []stead.DNSRecord
	for _, r := range all {
		if r.ManagedBy == nil {
			own = append(own, r)
		}
	}
	return own, nil
}
