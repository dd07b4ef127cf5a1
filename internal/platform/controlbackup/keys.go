package controlbackup

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"filippo.io/age"

	"stead.dev/stead/internal/platform/secret"
)

// Keys are what archives are encrypted for and opened with: a passphrase, or age's recipients and identities.
type Keys struct {
	Passphrase string
	// Recipients are public keys, such as age1…: who can write archives by these cannot open them.
	Recipients []string
	// IdentityFile holds the private key of a recipient.
	IdentityFile string
}

// minPassphrase is the least length of a passphrase, in bytes. Whoever gets hold of an archive may try as often as they like.
const minPassphrase = 12

// ErrNoKeys refuses to write an archive that is not encrypted.
var ErrNoKeys = errors.New("backups are always encrypted, because the key of all stored secrets is in them: set STEAD_CONTROL_BACKUP_PASSPHRASE_FILE, " +
	"or STEAD_CONTROL_BACKUP_RECIPIENTS with public keys of age (age-keygen makes them)")

// recipients returns whom an archive is encrypted for, and what the process that makes it reads it back with.
func (k Keys) recipients() (to []age.Recipient, back []age.Identity, err error) {
	switch {
	case k.Passphrase != "" && len(k.Recipients) > 0:
		return nil, nil, errors.New("STEAD_CONTROL_BACKUP_PASSPHRASE and STEAD_CONTROL_BACKUP_RECIPIENTS are both set: choose one")
	case k.Passphrase != "":
		if len(k.Passphrase) < minPassphrase {
			return nil, nil, fmt.Errorf("the passphrase of backups has %d characters, want at least %d", len(k.Passphrase), minPassphrase)
		}
		r, err := age.NewScryptRecipient(k.Passphrase)
		if err != nil {
			return nil, nil, err
		}
		i, err := age.NewScryptIdentity(k.Passphrase)
		return []age.Recipient{r}, []age.Identity{i}, err
	case len(k.Recipients) == 0:
		return nil, nil, ErrNoKeys
	}
	for _, text := range k.Recipients {
		r, err := age.ParseX25519Recipient(strings.TrimSpace(text))
		if err != nil {
			return nil, nil, fmt.Errorf("STEAD_CONTROL_BACKUP_RECIPIENTS: %w", err)
		}
		to = append(to, r)
	}
	// A key of this run alone, so that the archive can be read back to its end without the private key of any recipient.
	once, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, nil, err
	}
	return append(to, once.Recipient()), []age.Identity{once}, nil
}

// identities returns what an archive is opened with.
func (k Keys) identities() ([]age.Identity, error) {
	switch {
	case k.IdentityFile != "":
		if err := secret.CheckFile(k.IdentityFile); err != nil {
			return nil, err
		}
		f, err := os.Open(k.IdentityFile)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		all, err := age.ParseIdentities(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.IdentityFile, err)
		}
		return all, nil
	case k.Passphrase != "":
		i, err := age.NewScryptIdentity(k.Passphrase)
		return []age.Identity{i}, err
	default:
		return nil, errors.New("say how the archive is decrypted: --identity FILE for a private key of age, --passphrase-stdin, or STEAD_CONTROL_BACKUP_PASSPHRASE_FILE")
	}
}
