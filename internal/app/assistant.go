package app

import (
	"context"
	"strings"

	"stead.dev/stead/internal/agent/assistant"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/content/articles"
	"stead.dev/stead/internal/names/domains"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/llm"
)

// knowledge is the knowledge base as the assistant searches it.
type knowledge struct{ articles *articles.Service }

// Search implements assistant.Knowledge: in the reader's language, and in all when that finds nothing.
func (k knowledge) Search(ctx context.Context, question, lang string, limit int) ([]assistant.Article, error) {
	found, total, err := k.articles.Search(ctx, articles.Question{Text: question, Lang: lang}, limit, 0)
	if err == nil && total == 0 {
		found, _, err = k.articles.Search(ctx, articles.Question{Text: question}, limit, 0)
	}
	all := make([]assistant.Article, len(found))
	for i, a := range found {
		var excerpt strings.Builder
		for _, part := range a.Excerpt {
			excerpt.WriteString(part.Text)
		}
		all[i] = assistant.Article{Slug: a.Article.Slug, Lang: a.Lang, Title: a.Article.Texts[a.Lang].Title, Excerpt: excerpt.String()}
	}
	return all, err
}

// askedAccounts are the accounts as the assistant reads them.
type askedAccounts struct{ *core }

// Records implements assistant.Accounts.
func (a askedAccounts) Records(ctx context.Context, p auth.Principal, limit int) (r assistant.Records, err error) {
	some := page.Params{PerPage: limit}
	var owned []services.Owned
	names := &page.List[domains.View]{}
	if p.HasScope(auth.ScopeWalletRead) {
		balance, err := a.wallet.Balance(ctx, a.db, p.AccountID)
		if err != nil {
			return r, err
		}
		r.Balance = money.Wire(ctx, balance.Spendable).Display
	}
	if p.HasScope(auth.ScopeServicesRead) {
		if owned, err = a.services.Owned(ctx, a.db, p.AccountID, services.Filter{}, some); err != nil {
			return r, err
		}
	}
	if p.HasScope(auth.ScopeDomainsRead) {
		if names, err = a.domains.List(ctx, p.AccountID, domains.Filter{}, some); err != nil {
			return r, err
		}
	}
	for _, s := range owned {
		name := s.Label
		if s.Domain != nil {
			name = *s.Domain
		}
		r.Services = append(r.Services, assistant.Hosting{ID: s.ID, Domain: name, Status: string(s.Status), ExpiresAt: s.ExpiresAt})
	}
	for _, d := range names.Data {
		r.Domains = append(r.Domains, assistant.Domain{ID: d.ID, Name: d.Name, Status: string(d.Status), ExpiresAt: d.ExpiresAt})
	}
	return r, nil
}

// wording is the model that words the answers of the assistant and what is to do about insights: the first that the operator
// offers. Nobody is charged for it.
type wording struct{ models *llm.Offer }

// Ask implements assistant.Model and insights.Model.
func (w wording) Ask(ctx context.Context, r llm.Request) (llm.Answer, bool, error) {
	m, ok := w.models.Default()
	if !ok || m.Provider == llm.ProviderScripted { // one that plays transcripts has no words of its own
		return llm.Answer{}, false, nil
	}
	client, ok := w.models.Client(m.Name)
	if !ok {
		return llm.Answer{}, false, nil
	}
	r.Model = m.ID
	a, err := client.Ask(ctx, r, nil)
	return a, true, err
}
