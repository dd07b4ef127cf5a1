package epp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"stead.dev/stead/internal/port/registrar"
)

// The lengths of a handle (RFC 5730, clIDType) and of a postal code (RFC 5733, pcType).
const (
	handleMin, handleMax = 3, 16
	postalCodeMax        = 16
)

// PutContact implements registrar.Registrar. A handle that another registrar has is lengthened, and so is one whose contact
// has an ASCII form when the new person does not fit into that: a form cannot be removed, so the former person would stay.
func (c *Client) PutContact(ctx context.Context, handle string, in registrar.Contact) (string, error) {
	if len(handle) < handleMin || len(handle) > handleMax || line(in.Name) == "" || line(in.City) == "" || line(in.Email) == "" || len(in.Country) != 2 ||
		len(in.PostalCode) > postalCodeMax {
		return "", rejected("the contact is not complete")
	}
	voice, err := voice(in.Phone)
	if err != nil {
		return "", err
	}
	postal := postalInfo{
		Type: "int", Name: line(in.Name), Street: line(in.Street), City: line(in.City), Region: line(in.Region),
		PostalCode: line(in.PostalCode), Country: strings.ToUpper(in.Country),
	}
	for _, text := range []string{in.Name, in.Organization, in.Street, in.City, in.Region, in.PostalCode} {
		if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
			postal.Type = "loc" // the other form must be ASCII (RFC 5733, section 2.4)
		}
	}
	organization := line(in.Organization)
	if organization != "" {
		postal.Organization = &organization
	}
	for {
		create := contactCreate{ID: handle, Postal: postal, Voice: voice, Email: line(in.Email), AuthCode: authCode()}
		answer, err := c.do(ctx, request{what: "contact create", command: command{Create: &object{create}}, changes: true})
		if err == nil {
			if made := answer.Data.ContactMade; made != nil && made.ID != "" {
				handle = made.ID // some registries choose it themselves
			}
			return handle, c.prove(ctx, handle)
		}
		if registrar.KindOf(err) != registrar.Exists {
			return "", err
		}
		now, err := c.contact(ctx, handle)
		if err != nil {
			return "", err
		}
		forms := now.forms()
		if postal.Type == "loc" && slices.Contains(forms, "int") {
			handle = c.another(handle)
			continue
		}
		if len(forms) == 0 {
			forms = []string{postal.Type}
		}
		update := contactUpdate{ID: handle, Change: contactChange{Voice: &voice, Email: line(in.Email)}}
		for _, form := range forms { // registries keep those that an update leaves out
			changed := postal
			changed.Type, changed.Organization = form, &organization // also to remove a former one
			update.Change.Postal = append(update.Change.Postal, changed)
		}
		if now.private() {
			update.Change.Disclose = disclosing(false, forms...)
		}
		_, err = c.do(ctx, request{what: "contact update", command: command{Update: &object{update}}, changes: true})
		if err == nil {
			return handle, c.prove(ctx, handle)
		}
		if registrar.KindOf(err) != registrar.NotOurs {
			return "", err
		}
		handle = c.another(handle)
	}
}

// DeleteContact implements registrar.Registrar.
func (c *Client) DeleteContact(ctx context.Context, handle string) error {
	_, err := c.do(ctx, request{what: "contact delete", command: command{Delete: &object{contactDelete{ID: handle}}}, changes: true})
	return err
}

// prove checks once, at a contact that was just created, that the registry uses the expected name for us. Otherwise
// every domain that we register would seem to belong to another registrar.
func (c *Client) prove(ctx context.Context, handle string) error {
	c.mu.Lock()
	proved := c.proved
	c.mu.Unlock()
	if proved {
		return nil
	}
	made, err := c.contact(ctx, handle)
	if err != nil {
		return err
	}
	if made.Sponsor != "" && !strings.EqualFold(made.Sponsor, c.Sponsor) {
		c.Log.ErrorContext(ctx, "epp: the registry names us otherwise; correct epp_sponsor", "registry", made.Sponsor, "sponsor", c.Sponsor)
		return &registrar.Error{Kind: registrar.Unreachable, Cause: errors.New("epp: the registry names us " + made.Sponsor + " and not " + c.Sponsor)}
	}
	c.mu.Lock()
	c.proved = true
	c.mu.Unlock()
	return nil
}

// another derives a replacement for a handle that another registrar has: the same one every time.
func (c *Client) another(handle string) string {
	sum := sha256.Sum256([]byte(c.Sponsor + "\x00" + handle))
	return handle[:min(len(handle), handleMax-7)] + "-" + hex.EncodeToString(sum[:3])
}

// line is a text on one line, without spaces around it (RFC 5733, postalLineType).
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// voice formats a telephone number of E.164 with a dot after the country's code, as RFC 5733 (section 2.5) requires.
func voice(phone string) (string, error) {
	digits, ok := strings.CutPrefix(strings.NewReplacer(" ", "", "-", "", "(", "", ")", "", ".", "").Replace(phone), "+")
	if phone == "" {
		return "", nil
	}
	if !ok || len(digits) < 5 || len(digits) > 15 || strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return "", rejected("the telephone number is not an international one")
	}
	n := 3
	switch {
	case digits[0] == '1', digits[0] == '7':
		n = 1
	case slices.Contains(twoDigits, digits[:2]):
		n = 2
	}
	return "+" + digits[:n] + "." + digits[n:], nil
}

// twoDigits are the country codes of two digits (ITU-T E.164.D). Those that begin with 1 or 7 have one, the rest three.
var twoDigits = strings.Fields(`20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66
	81 82 84 86 90 91 92 93 94 95 98`)

// private reports whether the registry hides a contact.
func (c *Client) private(ctx context.Context, handle string) (bool, error) {
	if handle == "" {
		return false, nil
	}
	d, err := c.contact(ctx, handle)
	return d.private(), err
}

func (d contactData) private() bool {
	return d.Disclose != nil && (d.Disclose.Flag == "0" || d.Disclose.Flag == "false") && len(d.Disclose.Name) > 0
}

// forms are the forms of the contact's postal address.
func (d contactData) forms() (all []string) {
	for _, postal := range d.Postal {
		all = append(all, postal.Type)
	}
	return all
}

// disclosing shows or hides a contact, in the forms that its postal address has: the registry may refuse others.
func disclosing(shown bool, forms ...string) *disclose {
	d := &disclose{Flag: "0", Voice: &empty{}, Email: &empty{}}
	if shown {
		d.Flag = "1"
	}
	slices.Sort(forms)
	for _, form := range slices.Compact(forms) {
		one := typed{form}
		d.Name, d.Organization, d.Address = append(d.Name, one), append(d.Organization, one), append(d.Address, one)
	}
	return d
}

// contact reads a contact; it returns an empty one for a contact that is deleted or belongs to somebody else.
func (c *Client) contact(ctx context.Context, handle string) (contactData, error) {
	answer, err := c.do(ctx, request{what: "contact info", command: command{Info: &object{contactInfo{ID: handle}}}})
	var e *registrar.Error
	if errors.As(err, &e) && (e.Kind == registrar.NotFound || e.Kind == registrar.NotOurs) {
		return contactData{}, nil
	}
	if err != nil || answer.Data.Contact == nil {
		return contactData{}, err
	}
	return *answer.Data.Contact, nil
}

// SetPrivacy implements registrar.Registrar: the registry is told whether to disclose the domain's contacts
// (RFC 5733, section 2.9). A contact of several domains is hidden, or shown, with all of them.
func (c *Client) SetPrivacy(ctx context.Context, name string, on bool) error {
	s, err := c.own(ctx, name)
	if err != nil {
		return err
	}
	handles := map[registrar.Role]string{registrar.Owner: s.Owner}
	for _, one := range s.Contacts {
		handles[registrar.Role(one.Type)] = one.ID
	}
	return c.disclose(ctx, handles, !on)
}

// disclose shows or hides contacts.
func (c *Client) disclose(ctx context.Context, handles map[registrar.Role]string, shown bool) error {
	var done []string
	for _, role := range []registrar.Role{registrar.Owner, registrar.Admin, registrar.Tech, registrar.Billing} {
		handle := handles[role]
		if handle == "" || slices.Contains(done, handle) {
			continue
		}
		done = append(done, handle)
		now, err := c.contact(ctx, handle)
		if err != nil {
			return err
		}
		update := contactUpdate{ID: handle, Change: contactChange{Disclose: disclosing(shown, now.forms()...)}}
		if _, err := c.do(ctx, request{what: "contact update", command: command{Update: &object{update}}, changes: true}); err != nil {
			return prepared(err)
		}
	}
	return nil
}
