package mcp

import (
	"net/http"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
)

// ResellerTools are the tools of a reseller's agents.
var ResellerTools = []Tool{
	{Name: "list_client_services", Title: "Services of all clients", Operation: "reseller.services.list"},
	{Name: "get_client_service", Title: "A client's service", Operation: "reseller.services.get"},
	{Name: "list_service_addons", Title: "What a service has beside its plan", Operation: "reseller.addons.list"},
	{Name: "list_service_events", Title: "What happened to a service", Operation: "reseller.services.events"},
	{Name: "get_service_usage", Title: "What a service uses of its plan", Operation: "reseller.hosting.usage"},
	{Name: "list_renewals", Title: "Renewals to come, and whether they are covered", Operation: "reseller.renewals"},
	{Name: "list_clients", Title: "Clients by their tags", Operation: "reseller.clients.list"},
	{Name: "get_client", Title: "What a client has and costs", Operation: "reseller.clients.get"},
	{Name: "list_domains", Title: "Domain registrations", Operation: "reseller.domains.list"},
	{Name: "get_domain", Title: "A domain registration", Operation: "reseller.domains.get"},
	{Name: "check_domains", Title: "Whether names can be registered", Operation: "reseller.domains.check"},
	{Name: "list_tlds", Title: "Prices of domain names", Operation: "reseller.domains.tlds"},
	{Name: "get_stats", Title: "The business in numbers", Operation: "reseller.stats"},
	{Name: "get_balance", Title: "The wallet's balance", Operation: "reseller.wallet.get"},
	{Name: "list_transactions", Title: "What came into the wallet and went out", Operation: "reseller.wallet.transactions"},
	{Name: "list_orders", Title: "Orders", Operation: "reseller.orders.list"},
	{Name: "list_invoices", Title: "Invoices, receipts and credit notes", Operation: "reseller.invoices.list"},
	{Name: "list_plans", Title: "Wholesale and retail prices", Operation: "reseller.catalog.list"},
	{Name: "get_plan", Title: "A plan with its limits", Operation: "reseller.catalog.get"},
	{Name: "list_locations", Title: "Where services can be", Operation: "reseller.locations"},
}

// ResellerInstructions explain the tools to a model.
const ResellerInstructions = "The business of a company that resells web hosting and domains. Every service belongs to a client of the " +
	"reseller, who is known by a tag, client_ref, only. Amounts are in US cents; usd_cents is the one that counts. renewal_covered says " +
	"whether the wallet pays the renewal of a service after all that are due before it. Nothing here can be changed."

// Reseller is the operation by which resellers' agents reach an endpoint (specification, section "MCP").
func (e *Endpoint) Reseller() api.Route {
	return api.Operation[struct{}, api.Empty]{
		ID: "reseller.mcp", Method: http.MethodPost, Path: "/api/v1/reseller/mcp", Section: api.Reseller, Auth: api.Key, Reads: true,
		Example: `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`,
		Status:  http.StatusOK, ContentTypes: []string{"application/json"},
		Summary: "Let an AI agent read: the Model Context Protocol",
		Description: "JSON-RPC 2.0 over the protocol's streamable HTTP transport, without sessions; an answer is one JSON object. The " +
			"tools are the reading operations of this interface.",
		Errors:   []*fault.Def{fault.MalformedJSON, fault.InvalidRequest, fault.UnsupportedMediaType, fault.PayloadTooLarge},
		Document: Document, Stream: e.Answer,
	}
}
