// Package secret protects secrets: it encrypts those that Stead must read again (a TOTP seed, a gateway's key), and
// generates and hashes the tokens that it only has to recognise.
//
// The encryption key lives outside the database, in a file that is made at the first start, or in a setting that all
// replicas share. Somebody with only the database, or a backup of it, cannot read secrets.
package secret

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

var (
	// ErrKeyMissing says that a secret was sealed with a key that this Box does not hold. The key file was lost,
	// replaced, or belongs to another installation; only the right file can open the secret.
	ErrKeyMissing = errors.New("secret: sealed with a key that this installation does not have: " +
		"restore the key file of the data directory from its backup, or give all replicas the same key")

	// ErrNotAuthentic says that a sealed secret was altered, or stored at a place other than the one it was sealed for.
	ErrNotAuthentic = errors.New("secret: sealed value was altered or belongs to another row")
)

// Box seals and opens secrets with the keys of one keyset: it seals with the primary key and opens with any, so a
// key can be replaced while secrets sealed with the old one remain. It is safe for concurrent use.
type Box struct {
	cipher tink.AEAD
	keys   map[uint32]bool // the ids that the keyset holds
}

// Seal encrypts plaintext (XAES-256-GCM, random nonce). The additional data is not stored: it names the location of the
// value, such as "account_totp/42/seed", and Open needs the same, so that a sealed value moved to another row or column
// does not open there.
func (b *Box) Seal(plaintext, aad []byte) ([]byte, error) {
	sealed, err := b.cipher.Encrypt(plaintext, aad)
	if err != nil {
		return nil, fmt.Errorf("secret: seal: %w", err)
	}
	return sealed, nil
}

// Open decrypts what Seal made with the same additional data. It fails with ErrKeyMissing or ErrNotAuthentic.
func (b *Box) Open(sealed, aad []byte) ([]byte, error) {
	if id, ok := keyID(sealed); ok && !b.keys[id] {
		return nil, ErrKeyMissing
	}
	plaintext, err := b.cipher.Decrypt(sealed, aad)
	if err != nil {
		return nil, ErrNotAuthentic // tink gives no more detail either, on purpose
	}
	return plaintext, nil
}

// keyID reads the id of the sealing key from tink's prefix: a version byte 1, then the id, big-endian.
func keyID(sealed []byte) (uint32, bool) {
	const version, length = 1, 5
	if len(sealed) < length || sealed[0] != version {
		return 0, false
	}
	return binary.BigEndian.Uint32(sealed[1:length]), true
}

// ParseKeyset returns the Box of a keyset in tink's JSON form: the content of a key file. Replicas without a shared
// disk get it as a setting.
func ParseKeyset(content []byte) (*Box, error) {
	handle, err := parseHandle(content)
	if err != nil {
		return nil, err
	}
	return newBox(handle)
}

func newBox(handle *keyset.Handle) (*Box, error) {
	cipher, err := aead.New(handle)
	if err != nil {
		return nil, fmt.Errorf("secret: keyset cannot encrypt: %w", err)
	}
	b := &Box{cipher: cipher, keys: map[uint32]bool{}}
	for _, key := range handle.KeysetInfo().GetKeyInfo() {
		b.keys[key.GetKeyId()] = true
	}
	return b, nil
}

func parseHandle(content []byte) (*keyset.Handle, error) {
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(content)))
	if err != nil {
		// The cause could quote the content, which is the key.
		return nil, errors.New("secret: not a keyset in tink's JSON form: the content is damaged or is something else")
	}
	return handle, nil
}

func encodeHandle(handle *keyset.Handle) ([]byte, error) {
	var content bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&content)); err != nil {
		return nil, fmt.Errorf("secret: encode keyset: %w", err)
	}
	content.WriteByte('\n')
	return content.Bytes(), nil
}

// Fingerprint identifies the keyset of a key file without telling anything of its keys. A rotation, which adds a key, does
// not change it.
func Fingerprint(content []byte) (string, error) {
	if _, err := parseHandle(content); err != nil {
		return "", err
	}
	set, err := keyset.NewJSONReader(bytes.NewReader(content)).Read()
	if err != nil || len(set.GetKey()) == 0 {
		return "", errors.New("secret: a keyset without keys")
	}
	first := set.GetKey()[0].GetKeyData().GetValue() // 256 random bits, so its hash cannot be reversed
	sum := sha256.Sum256(append([]byte("stead fingerprint of a key\x00"), first...))
	return hex.EncodeToString(sum[:16]), nil
}

// addPrimary adds a fresh key to a keyset and makes it the one that seals.
func addPrimary(manager *keyset.Manager) (*keyset.Handle, error) {
	id, err := manager.Add(aead.XAES256GCM192BitNonceKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("secret: make key: %w", err)
	}
	if err := manager.SetPrimary(id); err != nil {
		return nil, fmt.Errorf("secret: make key primary: %w", err)
	}
	handle, err := manager.Handle()
	if err != nil {
		return nil, fmt.Errorf("secret: make keyset: %w", err)
	}
	return handle, nil
}
