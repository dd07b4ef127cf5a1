package certificates

import (
	"slices"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/platform/certificate"
)

// selfSigned is the machine's own certificate of a domain.
type selfSigned struct {
	Domain    string    `json:"domain"`
	ExpiresAt time.Time `json:"expires_at"`
	File      string    `json:"file"`
}

// ownPrefix is the prefix of the files of the machine's own certificates.
const ownPrefix = "own-"

// The life of one, and how long before its end it is replaced.
const (
	ownLife  = 397 * 24 * time.Hour
	ownEarly = 30 * 24 * time.Hour
)

// signOwn creates, renews and removes the machine's own certificates for the domains of an account.
func (d *Driver) signOwn(a accounts.Account) error {
	good := func(c selfSigned) bool {
		return a.Find(c.Domain) >= 0 && d.now().Add(ownEarly).Before(c.ExpiresAt) && d.there(a.Name, c.File)
	}
	d.making.Lock()
	defer d.making.Unlock()
	own := d.records.Get(a.Name).Own
	var fresh []selfSigned
	for _, domain := range a.Domains {
		if slices.ContainsFunc(own, func(c selfSigned) bool { return c.Domain == domain.Name && good(c) }) {
			continue
		}
		c, err := d.sign(a.Name, domain.Name)
		if err != nil {
			return err
		}
		fresh = append(fresh, c)
	}
	if len(fresh) == 0 && !slices.ContainsFunc(own, func(c selfSigned) bool { return !good(c) }) {
		return nil
	}
	_, err := d.records.Update(a.Name, func(rec *stored) error {
		rec.Own = slices.DeleteFunc(rec.Own, func(c selfSigned) bool { return !good(c) })
		for _, c := range fresh {
			rec.Own = slices.DeleteFunc(rec.Own, func(o selfSigned) bool { return o.Domain == c.Domain })
		}
		rec.Own = append(rec.Own, fresh...)
		return nil
	})
	return err
}

// sign creates a certificate for a domain and its "www." name.
func (d *Driver) sign(account, domain string) (selfSigned, error) {
	b, err := certificate.SelfSign(domain, []string{domain, "www." + domain}, d.now(), ownLife)
	if err != nil {
		return selfSigned{}, err
	}
	key, err := b.KeyPEM()
	if err != nil {
		return selfSigned{}, err
	}
	leaf := b.Leaf()
	c := selfSigned{Domain: domain, ExpiresAt: leaf.NotAfter, File: ownPrefix + leaf.SerialNumber.Text(36)}
	return c, d.write(account, c.File, b.ChainPEM(), key)
}
