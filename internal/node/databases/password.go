package databases

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the protocol of MySQL; the passwords are long and random
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stead.dev/stead/internal/platform/atomicfile"
)

// nativeVerifier is MariaDB's stored form of a password for mysql_native_password.
func nativeVerifier(password string) string {
	first := sha1.Sum([]byte(password)) //nolint:gosec // as above
	second := sha1.Sum(first[:])        //nolint:gosec // as above
	return "*" + strings.ToUpper(hex.EncodeToString(second[:]))
}

const scramIterations = 4096 // PostgreSQL's own; the passwords are long and random

// scramVerifier is PostgreSQL's stored form of a password for SCRAM-SHA-256 (RFC 5803).
func scramVerifier(password string) (string, error) {
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	salted, err := pbkdf2.Key(sha256.New, password, salt, scramIterations, sha256.Size)
	if err != nil {
		return "", err
	}
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(mac(salted, "Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", scramIterations, encode(salt), encode(stored[:]), encode(mac(salted, "Server Key"))), nil
}

// machineKey reads the key from which the agent's own passwords are derived; the first call creates it.
func machineKey(dir string) ([]byte, error) {
	file := filepath.Join(dir, "key")
	key, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		key = make([]byte, 32)
		if _, err := rand.Read(key); err != nil {
			return nil, err
		}
		return key, atomicfile.Write(file, key, 0o600)
	}
	if err == nil && len(key) != 32 {
		err = fmt.Errorf("%s is no key", file)
	}
	return key, err
}

// derive derives the agent's own password of a user.
func derive(key []byte, user string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(user))
	return hex.EncodeToString(h.Sum(nil))
}
