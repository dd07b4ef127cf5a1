package dns

import "strings"

// conflict explains why r cannot join the other records of the zone; nil when it can. A disabled record excludes only its
// own duplicate. Records of sets (yields) and the service's addresses (displaced) give way to the customer's. A record with
// the id of r is r before its change.
func conflict(zone string, all []record, r record) *clash {
	if r.kind == CNAME && r.name == apex {
		return &clash{reason: "cname_apex"}
	}
	if r.kind == NS && r.name == apex && !r.system {
		return &clash{reason: "system_record"}
	}
	for i := range all {
		other := &all[i]
		if other.id == r.id && r.id != 0 {
			continue
		}
		if other.same(r.fields) {
			return &clash{"duplicate", other}
		}
		if other.disabled || r.disabled || (other.owner != "" && r.owner == "") || (other.serviceAddress() && r.customers()) {
			continue
		}
		if reason := between(zone, other.fields, r.fields); reason != "" {
			return &clash{reason, other}
		}
	}
	return nil
}

// conflictBetween explains why two records cannot be served together; empty when they can.
func between(zone string, a, b fields) string {
	if a.name == b.name {
		switch {
		case a.kind == CNAME || b.kind == CNAME:
			return "cname_beside"
		case flattened(a, b) || flattened(b, a):
			return "alias_beside"
		case a.kind == MX && b.kind == MX && (a.value == "." || b.value == "."): // RFC 7505
			return "null_mx_beside"
		}
	}
	if hides(a, b) || hides(b, a) {
		return "delegated"
	}
	if leads(zone, a, b) || leads(zone, b, a) {
		return "target_cname"
	}
	return ""
}

// flattened tells that a is an ALIAS whose addresses would mix with b.
func flattened(a, b fields) bool {
	return a.kind == ALIAS && (b.kind == A || b.kind == AAAA || b.kind == ALIAS)
}

// hides tells that other name servers answer for b because of the delegation a.
// Addresses below it are its glue.
func hides(a, b fields) bool {
	if a.kind != NS || a.name == apex {
		return false
	}
	if a.name == b.name {
		return b.kind != NS && b.kind != DS && b.kind != A && b.kind != AAAA
	}
	return strings.HasSuffix(b.name, "."+a.name) && b.kind != A && b.kind != AAAA
}

// leads tells that a names the owner of the CNAME b where a host is needed (RFC 2181,
// section 10.3).
func leads(zone string, a, b fields) bool {
	return b.kind == CNAME && (a.kind == MX || a.kind == NS) && a.value == absolute(zone, b.name)
}
