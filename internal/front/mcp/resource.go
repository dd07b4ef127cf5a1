package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"stead.dev/stead/internal/platform/fault"
)

// Articles names the tools that answer the knowledge base.
type Articles struct {
	List, Get string // tools; empty: articles are no resources
	// Text is the member of an article that holds its Markdown.
	Text string
}

const (
	overviewTemplate = "stead://services/{id}/overview"
	articleTemplate  = "stead://kb/{lang}/{slug}"
	// articlesLive is how long a client may keep an article, which is the same for everybody.
	articlesLive = time.Hour
)

// addResources adds what a caller with these tools can read as resources: an overview of each service, and the
// articles of the knowledge base.
func (e *Endpoint) addResources(s *sdk.Server, tools map[string]*tool) {
	overview := len(e.cfg.Overview) > 0 && tools[e.cfg.Overview[0]] != nil
	articles := tools[e.cfg.Articles.List] != nil && tools[e.cfg.Articles.Get] != nil
	if overview {
		s.AddResourceTemplate(&sdk.ResourceTemplate{
			Name: "service_overview", Title: "Overview of a service", URITemplate: overviewTemplate, MIMEType: "application/json",
			Description: "A service with its use, domains, certificates and PHP in one document.",
		}, func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return e.readOverview(ctx, tools, req.Params.URI)
		})
	}
	if articles {
		s.AddResourceTemplate(&sdk.ResourceTemplate{
			Name: "help_article", Title: "Article of the knowledge base", URITemplate: articleTemplate, MIMEType: "text/markdown",
			Description: "How something is done, step by step. lang is uz, ru or en.",
		}, func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return e.readArticle(ctx, tools, req.Params.URI)
		})
	}
	if !overview && !articles {
		return
	}
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := res.(*sdk.ListResourcesResult); ok && err == nil {
				list.Resources, err = e.listResources(ctx, tools, overview, articles)
			}
			return res, err
		}
	})
}

// listed is a row of a list of services or articles.
type listed struct {
	ID                                       int64
	Label, Slug, Title, Description, Summary string
}

// listResources lists the first services and articles; the tools find the others.
func (e *Endpoint) listResources(ctx context.Context, tools map[string]*tool, overview, articles bool) ([]*sdk.Resource, error) {
	c, ok := ctx.Value(callKey{}).(call)
	if !ok {
		return nil, errors.New("mcp: a call without a principal")
	}
	all := []*sdk.Resource{}
	if list := tools["list_services"]; overview && list != nil {
		rows, err := e.rows(c, list, `{"per_page": 50}`)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			all = append(all, &sdk.Resource{
				URI: strings.Replace(overviewTemplate, "{id}", strconv.FormatInt(r.ID, 10), 1), Name: fmt.Sprintf("service_%d", r.ID),
				Title: r.Label, MIMEType: "application/json",
			})
		}
	}
	if articles {
		rows, err := e.rows(c, tools[e.cfg.Articles.List], `{"per_page": 50, "lang": "en"}`)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			uri := strings.NewReplacer("{lang}", "en", "{slug}", url.PathEscape(r.Slug)).Replace(articleTemplate)
			all = append(all, &sdk.Resource{URI: uri, Name: r.Slug, Title: r.Title, Description: r.Description, MIMEType: "text/markdown"})
		}
	}
	return all, nil
}

func (e *Endpoint) rows(c call, t *tool, arguments string) ([]listed, error) {
	said, err := called(c, t.operation, json.RawMessage(arguments))
	if err != nil {
		return nil, e.refusal(c, err)
	}
	var answer struct{ Data []listed }
	err = json.Unmarshal(said, &answer)
	return answer.Data, err
}

// readOverview answers what the tools of the overview say of one service. The first one decides whether there is such a
// service; what another one refuses stands in its place, because a service without PHP is a service.
func (e *Endpoint) readOverview(ctx context.Context, tools map[string]*tool, uri string) (*sdk.ReadResourceResult, error) {
	c, ok := ctx.Value(callKey{}).(call)
	id, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(uri, "stead://services/"), "/overview"), 10, 64)
	if !ok || err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	arguments := json.RawMessage(fmt.Sprintf(`{"service": %d}`, id))
	whole := map[string]json.RawMessage{}
	for i, name := range e.cfg.Overview {
		t := tools[name]
		if t == nil {
			continue
		}
		said, err := e.answerOf(c, t, arguments)
		switch {
		case err != nil && i == 0 && fault.From(err).Def == fault.NotFound:
			return nil, sdk.ResourceNotFoundError(uri)
		case err != nil && i == 0:
			return nil, e.refusal(c, err)
		case err != nil:
			said = e.cfg.Edge.ErrorBody(c.ctx, err)
		}
		whole[name] = said
	}
	text, err := encode(whole)
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{
		Cacheable: sdk.Cacheable{CacheScope: "private"},
		Contents:  []*sdk.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(text)}},
	}, nil
}

// readArticle answers the Markdown of an article.
func (e *Endpoint) readArticle(ctx context.Context, tools map[string]*tool, uri string) (*sdk.ReadResourceResult, error) {
	c, ok := ctx.Value(callKey{}).(call)
	lang, slug, found := strings.Cut(strings.TrimPrefix(uri, "stead://kb/"), "/")
	slug, err := url.PathUnescape(slug)
	if !ok || !found || err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	arguments, err := json.Marshal(map[string]string{"slug": slug, "lang": lang})
	if err != nil {
		return nil, err
	}
	said, err := called(c, tools[e.cfg.Articles.Get].operation, arguments)
	if err != nil {
		if def := fault.From(err).Def; def == fault.NotFound || def == fault.Validation {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		return nil, e.refusal(c, err)
	}
	var article map[string]any
	if err := json.Unmarshal(said, &article); err != nil {
		return nil, err
	}
	text, _ := article[e.cfg.Articles.Text].(string)
	title, _ := article["title"].(string)
	return &sdk.ReadResourceResult{
		Cacheable: sdk.Cacheable{CacheScope: "public", TTLMs: int(articlesLive.Milliseconds())},
		Contents:  []*sdk.ResourceContents{{URI: uri, MIMEType: "text/markdown", Text: "# " + title + "\n\n" + text}},
	}, nil
}
