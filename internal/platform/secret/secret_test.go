package secret_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"stead.dev/stead/internal/platform/secret"
)

func keyFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "data", "secret.key")
}

func open(t *testing.T, path string) *secret.Box {
	t.Helper()
	box, err := secret.OpenKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func seal(t *testing.T, box *secret.Box, plaintext, aad string) []byte {
	t.Helper()
	sealed, err := box.Seal([]byte(plaintext), []byte(aad))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestASealedSecretOpensAfterARestart(t *testing.T) {
	path := keyFile(t)
	sealed := seal(t, open(t, path), "hunter2", "totp/1/seed")
	if bytes.Contains(sealed, []byte("hunter2")) {
		t.Fatal("the sealed form contains the secret")
	}
	got, err := open(t, path).Open(sealed, []byte("totp/1/seed"))
	if err != nil || string(got) != "hunter2" {
		t.Fatalf("opened %q, %v", got, err)
	}
	if again := seal(t, open(t, path), "hunter2", "totp/1/seed"); bytes.Equal(again, sealed) {
		t.Error("sealing twice gave the same bytes: equal secrets would be seen to be equal")
	}
}

func TestTheKeyFileIsPrivateAndNothingElseIsLeft(t *testing.T) {
	path := keyFile(t)
	open(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode is %04o, want 0600", mode)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory has %d entries, %v, want the key file alone", len(entries), err)
	}
}

func TestAKeyFileOpenToOthersIsRefused(t *testing.T) {
	for _, mode := range []fs.FileMode{0o644, 0o640, 0o604, 0o620} {
		path := keyFile(t)
		open(t, path)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secret.OpenKeyFile(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %04o: %v, want an error that says what to do", mode, err)
		}
	}
}

func TestADamagedKeyFileIsNeverReplacedNorQuoted(t *testing.T) {
	path := keyFile(t)
	open(t, path)
	damaged := []byte(`{"primaryKeyId": 7, "key": "topsecret`)
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := secret.OpenKeyFile(path)
	if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "topsecret") {
		t.Errorf("%v, want an error that names the file and not its content", err)
	}
	if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, damaged) {
		t.Error("the damaged file was changed; it may still be repaired")
	}
}

func TestProcessesThatStartTogetherShareOneKey(t *testing.T) {
	path := keyFile(t)
	const processes = 8
	boxes := make([]*secret.Box, processes)
	var wg sync.WaitGroup
	for i := range boxes {
		wg.Go(func() {
			box, err := secret.OpenKeyFile(path)
			if err != nil {
				t.Error(err)
				return
			}
			boxes[i] = box
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	sealed := seal(t, boxes[0], "shared", "x")
	for i, box := range boxes {
		if got, err := box.Open(sealed, []byte("x")); err != nil || string(got) != "shared" {
			t.Errorf("process %d: %q, %v", i, got, err)
		}
	}
}

func TestASecretDoesNotOpenInAnotherPlace(t *testing.T) {
	box := open(t, keyFile(t))
	sealed := seal(t, box, "hunter2", "totp/1/seed")
	for _, aad := range []string{"totp/2/seed", "totp/1/other", ""} {
		if _, err := box.Open(sealed, []byte(aad)); !errors.Is(err, secret.ErrNotAuthentic) {
			t.Errorf("at %q: %v, want ErrNotAuthentic", aad, err)
		}
	}
}

func TestNoByteOfASealedSecretCanBeChanged(t *testing.T) {
	box := open(t, keyFile(t))
	aad := []byte("totp/1/seed")
	sealed := seal(t, box, "hunter2", string(aad))
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, err := box.Open(changed, aad); err == nil {
			t.Errorf("a change of byte %d went unnoticed", i)
		}
	}
	for _, broken := range [][]byte{nil, {}, {1}, sealed[:5], sealed[:len(sealed)-1]} {
		if _, err := box.Open(broken, aad); err == nil {
			t.Errorf("%d bytes of it opened", len(broken))
		}
	}
}

func TestALostKeyIsNamedAsTheCause(t *testing.T) {
	sealed := seal(t, open(t, keyFile(t)), "hunter2", "x")
	_, err := open(t, keyFile(t)).Open(sealed, []byte("x"))
	if !errors.Is(err, secret.ErrKeyMissing) || !strings.Contains(err.Error(), "restore the key file") {
		t.Errorf("%v, want an error that says the key is lost and what helps", err)
	}
}

func TestAfterRotationOldSecretsOpenAndNewOnesNeedTheNewKey(t *testing.T) {
	path := keyFile(t)
	before := open(t, path)
	old := seal(t, before, "old", "x")

	rotated, err := secret.Rotate(path)
	if err != nil {
		t.Fatal(err)
	}
	fresh := seal(t, rotated, "new", "x")

	restarted := open(t, path)
	for want, sealed := range map[string][]byte{"old": old, "new": fresh} {
		if got, err := restarted.Open(sealed, []byte("x")); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", want, got, err)
		}
	}
	if _, err := before.Open(fresh, []byte("x")); !errors.Is(err, secret.ErrKeyMissing) {
		t.Errorf("the old box: %v, want ErrKeyMissing", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("after rotation: %v, %v, want mode 0600", info.Mode(), err)
	}
	if _, err := secret.Rotate(keyFile(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rotating what is not there: %v", err)
	}
}

func TestReplicasShareAKeyAsASetting(t *testing.T) {
	path := keyFile(t)
	sealed := seal(t, open(t, path), "hunter2", "x")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	box, err := secret.ParseKeyset(content)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := box.Open(sealed, []byte("x")); err != nil || string(got) != "hunter2" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := secret.ParseKeyset(nil); err == nil {
		t.Error("an empty keyset was accepted")
	}
}

func TestTokensAreOneRandomWordBehindTheirPrefix(t *testing.T) {
	word := regexp.MustCompile(`^st_at_[0-9A-Za-z]{43}$`)
	seen := map[string]bool{}
	digits := map[rune]int{}
	const n = 2000
	for range n {
		token := secret.Token("st_at_", 32)
		if !word.MatchString(token) {
			t.Fatalf("token %q, want 43 letters and digits: 256 bits", token)
		}
		if seen[token] {
			t.Fatal("the same token twice")
		}
		seen[token] = true
		for _, digit := range strings.TrimPrefix(token, "st_at_") {
			digits[digit]++
		}
	}
	// 2,000 × 43 ÷ 62 ≈ 1,387 of each; six standard deviations either side.
	for _, digit := range "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" {
		if count := digits[digit]; count < 1160 || count > 1610 {
			t.Errorf("%q was drawn %d times of 86,000", digit, count)
		}
	}
}

func TestTokensAreStoredHashedAndComparedInConstantTime(t *testing.T) {
	const abc = "\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad"
	if got := secret.Hash("abc"); string(got) != abc {
		t.Errorf("hash of abc is %x", got)
	}
	if !secret.Equal(secret.Hash("a"), secret.Hash("a")) || secret.Equal(secret.Hash("a"), secret.Hash("b")) || secret.Equal(nil, []byte{0}) {
		t.Error("Equal does not compare")
	}
}
