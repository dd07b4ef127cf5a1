package oauth

import (
	"testing"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/testkit"
)

func remembered(n byte) *entry {
	return &entry{
		hash: tokenHash{n}, grantID: 100 + int64(n), expiresAt: testkit.Start.Add(time.Hour), filledAt: testkit.Start,
		principal: auth.Principal{AccountID: 1, ApplicationID: 2, TokenID: int64(n)},
	}
}

// Who read the database before something was revoked must not put what it
// found back after the news came.
func TestAFillThatBeganBeforeARevocationIsNotKept(t *testing.T) {
	c := newCache(10)
	mark := c.mark()
	c.forget(ref{refGrant, 101})
	c.put(mark, remembered(1))
	if c.get(tokenHash{1}, testkit.Start) != nil {
		t.Error("the revoked token is remembered")
	}
	c.put(c.mark(), remembered(1))
	if c.get(tokenHash{1}, testkit.Start) == nil {
		t.Error("a good token is not remembered")
	}
}

func TestTheCacheForgetsByWhatEntriesWereMadeOf(t *testing.T) {
	for _, r := range []ref{{refToken, 1}, {refGrant, 101}, {refAccount, 1}, {refApplication, 2}} {
		c := newCache(10)
		c.put(c.mark(), remembered(1))
		c.forget(ref{r.kind, 999})
		if c.get(tokenHash{1}, testkit.Start) == nil {
			t.Errorf("%v: something else was forgotten", r)
		}
		c.put(c.mark(), remembered(1))
		c.forget(r)
		if c.get(tokenHash{1}, testkit.Start) != nil || len(c.made) != 0 {
			t.Errorf("%v: it is still remembered", r)
		}
	}
}

func TestTheCacheIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	c := newCache(3)
	for n := range byte(3) {
		c.put(c.mark(), remembered(n))
	}
	c.get(tokenHash{0}, testkit.Start)
	c.put(c.mark(), remembered(3))
	if c.get(tokenHash{1}, testkit.Start) != nil || c.get(tokenHash{0}, testkit.Start) == nil || len(c.entries) != 3 {
		t.Error("not the least recently used went")
	}
	c.clear()
	if len(c.entries)+len(c.made)+c.order.Len() != 0 {
		t.Error("clearing left something")
	}
}

func TestTheCacheAnswersNothingTooOld(t *testing.T) {
	c := newCache(3)
	c.put(c.mark(), remembered(1))
	if c.get(tokenHash{1}, testkit.Start.Add(maxAge+time.Second)) != nil {
		t.Error("an entry outlived the signals")
	}
	e := remembered(2)
	e.expiresAt = testkit.Start.Add(time.Second)
	c.put(c.mark(), e)
	if c.get(tokenHash{2}, testkit.Start.Add(time.Second)) != nil {
		t.Error("an expired token is answered")
	}
}
