package mail

import (
	"context"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// TestTheFormerKeyStaysForAWhile: a service that moves to another machine signs with that one's key, and what is on its way was
// signed with the former.
func TestTheFormerKeyStaysForAWhile(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		published := func(keys ...panel.MailDomain) string {
			t.Helper()
			var names []string
			w.Must(w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				for _, key := range keys {
					if err := putDomains(ctx, tx, owner, 10, []panel.MailDomain{key}); err != nil {
						return err
					}
				}
				all, err := domainsOf(ctx, tx, 10)
				for _, d := range all {
					for _, r := range d.records(panel.MailServer{}, tx.Now) {
						if name, ok := strings.CutSuffix(r.Name, "._domainkey.shop.example"); ok {
							names = append(names, name+" "+strings.TrimPrefix(r.Value, "v=DKIM1; k=rsa; p="))
						}
					}
				}
				return err
			}))
			return strings.Join(names, ", ")
		}
		one := panel.MailDomain{Name: "shop.example", DKIMSelector: "one", DKIMPublicKey: "AAAA"}
		other := panel.MailDomain{Name: "shop.example", DKIMSelector: "other", DKIMPublicKey: "BBBB"}
		for _, step := range []struct {
			keys []panel.MailDomain
			wait time.Duration
			want string
		}{
			{[]panel.MailDomain{one, one}, 0, "one AAAA"},
			{[]panel.MailDomain{other, other}, 3 * 24 * time.Hour, "other BBBB, one AAAA"},
			{nil, 24 * time.Hour, "other BBBB, one AAAA"},
			{nil, 0, "other BBBB"},
			{[]panel.MailDomain{one, other}, 0, "other BBBB, one AAAA"}, // a move that was called off
		} {
			if got := published(step.keys...); got != step.want {
				t.Errorf("published %q, want %q", got, step.want)
			}
			w.Clock.Advance(step.wait)
		}
	})
}
