package provider

import (
	"context"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"golang.org/x/net/idna"
)

// The server keeps each value in one form. What is written in a configuration may have another one, which means the same: that is no
// difference, and Terraform must not change or replace anything for it.

// isSpelled tells whether what is written becomes the server's value by normal, which brings a value to the server's form.
func isSpelled(written types.String, value *string, normal func(string) string) bool {
	return value != nil && !written.IsNull() && !written.IsUnknown() && normal(written.ValueString()) == *value
}

// spelled returns a value as it is written where that is the server's value in another spelling, and otherwise the server's.
func spelled(written types.String, value *string, normal func(string) string) types.String {
	if isSpelled(written, value, normal) {
		return written
	}
	return types.StringPointerValue(value)
}

// spelledSet is spelled for each value of a set.
func spelledSet(ctx context.Context, written types.Set, values []string, normal func(string) string) types.Set {
	spellings := map[string][]string{}
	for _, item := range itemsOf[string](ctx, written) {
		spellings[normal(item)] = append(spellings[normal(item)], item)
	}
	var all []string
	for _, value := range values {
		if found, ok := spellings[value]; ok {
			all = append(all, found...)
		} else {
			all = append(all, value)
		}
	}
	return stringSet(all)
}

// profile takes names as people write them. Underscores are what services begin with.
var profile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))

// normalName is a name of the DNS in lower-case ASCII, without the dot at its end.
func normalName(name string) string {
	name = strings.TrimSuffix(strings.TrimSpace(name), ".")
	if strings.ContainsFunc(name, func(r rune) bool { return r >= 0x80 }) {
		if ascii, err := profile.ToASCII(name); err == nil {
			return ascii
		}
	}
	return strings.ToLower(name)
}

// normalAlias is an address of a mailbox.
func normalAlias(address string) string {
	local, domain := cut(address)
	return strings.ToLower(local) + "@" + normalName(domain)
}

// normalForward is an address anywhere, whose local part may tell capitals from small letters.
func normalForward(address string) string {
	local, domain := cut(address)
	return local + "@" + normalName(domain)
}

// normalURL is the address of a page, without the slash of the first one of a host.
func normalURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	port := u.Port()
	if u.Host = normalName(u.Hostname()); strings.Contains(u.Host, ":") {
		u.Host = "[" + u.Host + "]"
	}
	if port != "" {
		u.Host += ":" + port
	}
	u.Fragment, u.RawFragment = "", ""
	if u.Path == "/" && u.RawQuery == "" {
		u.Path = ""
	}
	return u.String()
}

// normalRoot is a path in the home of a service.
func normalRoot(dir string) string { return path.Clean("/" + dir) }

// normalOwner returns the function for names of records of a zone, which are relative to it.
func normalOwner(zone string) func(string) string {
	return func(text string) string {
		name := normalName(text)
		if name == "" || name == zone {
			return "@"
		}
		return strings.TrimSuffix(name, "."+zone)
	}
}

// normalData returns the function for values of records of a type in a zone.
func normalData(recordType, zone string) func(string) string {
	return func(text string) string {
		words := strings.Fields(text)
		switch recordType {
		case "A", "AAAA":
			if a, err := netip.ParseAddr(strings.TrimSpace(text)); err == nil {
				return a.String()
			}
		case "ALIAS", "CNAME", "MX", "NS", "PTR", "SRV":
			switch name, isAbsolute := normalName(text), strings.HasSuffix(strings.TrimSpace(text), "."); {
			case name == "": // the dot that says that there is none
				return strings.TrimSpace(text)
			case name == "@" && !isAbsolute:
				return zone
			case !isAbsolute && !strings.Contains(name, "."):
				return name + "." + zone
			default:
				return name
			}
		case "CAA":
			return strings.TrimSpace(text)
		case "SSHFP", "TLSA", "DS": // numbers, and hexadecimal that may stand in pieces
			numbers := 3
			if recordType == "SSHFP" {
				numbers = 2
			}
			if len(words) > numbers {
				return strings.Join(words[:numbers], " ") + " " + strings.ToLower(strings.Join(words[numbers:], ""))
			}
		}
		return text
	}
}
