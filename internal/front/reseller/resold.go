package reseller

import (
	"fmt"

	"stead.dev/stead/internal/platform/api"
)

// resold are the operations of the public interface that resellers call with a key, by method and path (specification,
// "Reseller").
var resold = []string{
	"GET /api/v1/categories",
	"GET /api/v1/wallet",
	"GET /api/v1/wallet/transactions",
	"GET /api/v1/wallet/gateways",
	"POST /api/v1/wallet/topups",
	"GET /api/v1/wallet/topups/{topup}",
	"GET /api/v1/orders",
	"GET /api/v1/orders/{order}",
	"GET /api/v1/invoices",
	"GET /api/v1/invoices/{invoice}",
	"GET /api/v1/me/billing",
	"PUT /api/v1/me/billing",
	"GET /api/v1/domains",
	"POST /api/v1/domains",
	"GET /api/v1/domains/{domain}",
	"PATCH /api/v1/domains/{domain}",
	"POST /api/v1/domains/{domain}/renew",
	"PUT /api/v1/domains/{domain}/nameservers",
	"PUT /api/v1/domains/{domain}/contacts",
	"PUT /api/v1/domains/{domain}/dnssec",
	"POST /api/v1/domains/{domain}/transfer-out",
	"POST /api/v1/domains/{domain}/auth-code",
	"GET /api/v1/domain-claims",
	"POST /api/v1/domain-claims",
	"GET /api/v1/domain-claims/{claim}",
	"POST /api/v1/domain-claims/{claim}/check",
	"POST /api/v1/services/{service}/renew",
	"GET /api/v1/services/{service}/tariffs",
	"POST /api/v1/services/{service}/tariff",
	"GET /api/v1/catalog/addons",
	"GET /api/v1/services/{service}/addons",
	"GET /api/v1/services/{service}/addons/offers",
	"POST /api/v1/services/{service}/addons",
	"DELETE /api/v1/services/{service}/addons/{addon}",
	"GET /api/v1/services/{service}/usage",
	"GET /api/v1/services/{service}/domains",
	"POST /api/v1/services/{service}/domains",
	"DELETE /api/v1/services/{service}/domains/{hosted_domain}",
	"GET /api/v1/services/{service}/databases",
	"POST /api/v1/services/{service}/databases",
	"DELETE /api/v1/services/{service}/databases/{database}",
	"GET /api/v1/services/{service}/mailboxes",
	"POST /api/v1/services/{service}/mailboxes",
	"DELETE /api/v1/services/{service}/mailboxes/{mailbox}",
	"GET /api/v1/services/{service}/ssl",
	"POST /api/v1/services/{service}/ssl",
	"GET /api/v1/services/{service}/backups",
	"POST /api/v1/services/{service}/backups",
	"POST /api/v1/services/{service}/backups/{backup}/restore",
}

// Resell selects from the operations of all sections those that resellers have too.
func Resell(routes []api.Route) ([]api.Route, error) {
	byName := map[string]api.Route{}
	for _, r := range routes {
		info, err := api.InfoOf(r)
		if err != nil {
			return nil, err
		}
		byName[info.Method+" "+info.Path] = r
	}
	var out []api.Route
	for _, name := range resold {
		r, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("reseller: there is no operation %s to be sold on", name)
		}
		out = append(out, api.Resold(r))
	}
	return out, nil
}
