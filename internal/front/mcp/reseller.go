package mcp

import (
	"net/http"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
)

// ResellerTools are the tools of a reseller's agents.
var ResellerTools = []Tool{
	{"list_client_services", "Services of all clients", "reseller.services.list"},
	{"get_client_service", "A client's service", "reseller.services.get"},
	{"list_service_addons", "What a service has beside its plan", "reseller.addons.list"},
	{"list_service_events", "What happened to a service", "reseller.services.events"},
	{"get_service_usage", "What a service uses of its plan", "reseller.hosting.usage"},
	{"list_renewals", "Renewals to come, and whether they are covered", "reseller.renewals"},
	{"list_clients", "Clients by their tags", "reseller.clients.list"},
	{"get_client", "What a client has and costs", "reseller.clients.get"},
	{"list_domains", "Domain registrations", "reseller.domains.list"},
	{"get_domain", "A domain registration", "reseller.domains.get"},
	{"check_domains", "Whether names can be registered", "reseller.domains.check"},
	{"list_tlds", "Prices of domain names", "reseller.domains.tlds"},
	{"get_stats", "The business in numbers", "reseller.stats"},
	{"get_balance", "The wallet's balance", "reseller.wallet.get"},
	{"list_transactions", "What came into the wallet and went out", "reseller.wallet.transactions"},
	{"list_orders", "Orders", "reseller.orders.list"},
	{"list_invoices", "Invoices, receipts and credit notes", "reseller.invoices.list"},
	{"list_plans", "Wholesale and retail prices", "reseller.catalog.list"},
	{"get_plan", "A plan with its limits", "reseller.catalog.get"},
	{"list_locations", "Where services can be", "reseller.locations"},
}

// ResellerInstructions explain the tools to a model.
const ResellerInstructions = "The business of a company that resells web hosting and domains. Every service belongs to a client of the " +
	"reseller, who is known by a tag, client_ref, only. Amounts are in US cents; usd_cents is the one that counts. renewal_covered says " +
	"whether the wallet pays the renewal of a service after all that are due before it. Nothing here can be changed."

// Reseller is the operation by which resellers' agents reach an endpoint (specification, section "MCP").
func (e *Endpoint) Reseller() api.Route {
	return api.Operation[struct{}, api.Empty]{
		ID: "reseller.mcp", Method: http.MethodPost, Path: "/api/v1/reseller/mcp", Section: api.Reseller, Auth: api.Key, Reads: true,
		Status: http.StatusOK, ContentTypes: []string{"application/json"},
		Summary: "Let an AI agent read: the Model Context Protocol",
		Description: "JSON-RPC 2.0 over the protocol's streamable HTTP transport, without sessions; an answer is one JSON object. The " +
			"tools are the reading operations of this interface.",
		Errors:   []*fault.Def{fault.MalformedJSON, fault.InvalidRequest, fault.UnsupportedMediaType, fault.PayloadTooLarge},
		Document: Document, Stream: e.Answer,
	}
}
