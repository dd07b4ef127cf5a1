package scans

import (
	"strings"
)

// SPF, DKIM and DMARC are asked of domains that receive mail.

func spf(f Facts) Finding {
	switch d := f.DNS; {
	case d.MXErr != nil || d.TXTErr != nil:
		return skip("dns_silent")
	case len(d.MX) == 0:
		return skip("no_mail")
	default:
		var found []string
		for _, txt := range d.TXT {
			if lower := strings.ToLower(txt); lower == "v=spf1" || strings.HasPrefix(lower, "v=spf1 ") {
				found = append(found, txt)
			}
		}
		if len(found) != 1 || strings.Contains(found[0], "+all") {
			return fails(Low, 5, strings.Join(found, "; "))
		}
		return pass(found[0])
	}
}

func dkim(f Facts) Finding {
	switch d := f.DNS; {
	case d.MXErr != nil || d.DKIMErr != nil:
		return skip("dns_silent")
	case len(d.MX) == 0:
		return skip("no_mail")
	case len(d.DKIM) == 0:
		return fails(Low, 5, strings.Join(selectors, ", "))
	default:
		return pass(strings.Join(d.DKIM, ", "))
	}
}

func dmarc(f Facts) Finding {
	d := f.DNS
	switch {
	case d.MXErr != nil || d.DMARCErr != nil:
		return skip("dns_silent")
	case len(d.MX) == 0:
		return skip("no_mail")
	}
	for _, txt := range d.DMARC {
		if strings.HasPrefix(strings.ToLower(strings.ReplaceAll(txt, " ", "")), "v=dmarc1;") {
			return pass(txt)
		}
	}
	return fails(Low, 5, "_dmarc."+d.Domain)
}

func dnssec(f Facts) Finding {
	switch d := f.DNS; {
	case d.DSErr != nil:
		return skip("dns_silent")
	case len(d.DS) == 0:
		return warns(Info, 0, d.Domain)
	default:
		return pass(d.DS[0])
	}
}

func caa(f Facts) Finding {
	d := f.DNS
	if d.CAAErr != nil {
		return skip("dns_silent")
	}
	for _, c := range d.CAA {
		if c.Tag == "issue" || c.Tag == "issuewild" {
			return pass(c.Tag + " " + c.Value)
		}
	}
	return warns(Info, 0, d.Domain)
}
