package app

import (
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/auth"
)

// TestTheAssistantTellsWhatTheTokenReads: an application that may not read the wallet does not learn of it by asking.
func TestTheAssistantTellsWhatTheTokenReads(t *testing.T) {
	engines(t, nil, func(t *testing.T, a *App) {
		c := a.application(t, false)
		account := a.account(t)
		a.credit(t, account, 1250)
		for scope, tells := range map[string]bool{auth.ScopeWalletRead: true, auth.ScopeServicesRead: false} {
			r := a.post(t, a.token(t, account, c, auth.ScopeProfile, scope), "/api/v1/assistant", `{"message": "What is my balance?"}`)
			if r.status != 200 || strings.Contains(string(r.body), "12.50") != tells {
				t.Errorf("with %s: %s", scope, r)
			}
		}
	})
}
