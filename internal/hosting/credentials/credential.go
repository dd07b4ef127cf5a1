package credentials

import (
	"crypto/rand"
	"math/big"
	"time"
)

// Kind says what a password is for.
type Kind string

// The kinds. SubjectID is a row of the section that has such things.
const (
	Database Kind = "database"
	FTP      Kind = "ftp"
	Server   Kind = "server"
)

// Credential is a password that exists, without the password.
type Credential struct {
	ID, AccountID, ServiceID int64

	Kind      Kind
	SubjectID int64
	Label     string // the user's name that the password belongs to
	Place     string // where it signs in, "host:port"; empty: not known. List alone tells
	MadeAt    time.Time
	// RevealedAt is when its owner has seen it; nil while it waits to be seen.
	RevealedAt *time.Time
}

// The alphabet of passwords leaves out what people take for something else: 0 O, 1 l I. Nothing in it needs
// escaping, in a URL, a shell or a configuration file.
const (
	alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	length   = 24 // 140 bits
)

// generate makes a password.
func generate() string {
	b := make([]byte, length)
	for i := range b {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			panic("credentials: no randomness: " + err.Error()) // crypto/rand never fails
		}
		b[i] = alphabet[n.Int64()]
	}
	return string(b)
}
