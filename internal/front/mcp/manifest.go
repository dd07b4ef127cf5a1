package mcp

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
)

// Manifest describes an endpoint to directories (specification, section "MCP"): the server.json of the registry of the
// Model Context Protocol.
type Manifest struct {
	Schema      string       `json:"$schema"`
	Name        string       `json:"name" doc:"The host in reverse, and the program"`
	Title       string       `json:"title"`
	Description string       `json:"description" maxLength:"100"`
	Version     string       `json:"version"`
	WebsiteURL  string       `json:"websiteUrl"`
	Remotes     []Remote     `json:"remotes"`
	Meta        ManifestMeta `json:"_meta"`
}

// Remote is an address at which the server is reached, and what a client has to ask its user for.
type Remote struct {
	Type    string  `json:"type" enum:"streamable-http"`
	URL     string  `json:"url"`
	Headers []Input `json:"headers"`
}

// Input is a header that a user fills in.
type Input struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"isRequired"`
	Secret      bool   `json:"isSecret"`
	Placeholder string `json:"placeholder"`
}

// ManifestMeta holds what the registry's schema leaves to publishers.
type ManifestMeta struct {
	Publisher struct {
		Tools []ManifestTool `json:"tools"`
	} `json:"io.modelcontextprotocol.registry/publisher-provided"`
}

// ManifestTool is a tool without its schemas.
type ManifestTool struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Scopes      []string `json:"scopes" doc:"Of which a token needs one; none: any token"`
}

// mostTitle bounds the title in the registry's schema, in characters.
const mostTitle = 100

const manifestSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// Manifest is the operation that serves the manifest; baseURL is the address of the server.
func (e *Endpoint) Manifest(baseURL string) api.Route {
	m := Manifest{
		Schema: manifestSchema, Name: reverseHost(baseURL) + "/stead",
		Description: "Read a hosting account: sites, domains, mail, files, logs, backups, monitors, security, wallet.",
		Version:     e.cfg.Version, WebsiteURL: baseURL, Remotes: []Remote{{Type: "streamable-http", URL: baseURL + customerPath, Headers: []Input{{
			Name: "Authorization", Description: "The word Bearer and an access token of an application of yours", Required: true, Secret: true,
			Placeholder: "Bearer sta_…",
		}}}},
	}
	for _, t := range e.tools {
		m.Meta.Publisher.Tools = append(m.Meta.Publisher.Tools, ManifestTool{
			Name: t.Name, Title: t.Title, Description: t.Description, Scopes: append([]string{}, t.operation.Scopes()...),
		})
	}
	return api.Operation[struct{}, Manifest]{
		ID: "mcp.manifest", Method: http.MethodGet, Path: "/.well-known/mcp/server.json", Section: api.MCP, Auth: api.Open,
		Description: "The manifest that directories of MCP servers read: the address of the server, how to authorize, and the tools " +
			"that it offers. No token is needed.",
		Summary: "The MCP server described for directories",
		Handle: func(context.Context, auth.Principal, *struct{}) (*Manifest, error) {
			present := m
			title := []rune(e.cfg.Brand().Name)
			present.Title = string(title[:min(len(title), mostTitle)])
			return &present, nil
		},
	}
}

// reverseHost is the host of an address as a name of the registry: com.example.hosting. An address without a name, as on
// a developer's machine, is "localhost".
func reverseHost(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || net.ParseIP(u.Hostname()) != nil {
		return "localhost"
	}
	labels := strings.Split(strings.ToLower(u.Hostname()), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}
