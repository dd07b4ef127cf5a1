package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/exports"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/module"
	"stead.dev/stead/internal/platform/throttle"
)

func (c *core) buildExports() {
	var limit throttle.Policy
	if c.cfg.Throttle {
		limit = exports.DefaultLimit()
	}
	c.exports = exports.New(exports.Config{
		DB: c.db, Queue: c.queue, Box: c.box, Limiter: c.limiter, Owners: exportOwners{c.accounts}, Brand: c.company.Current, Limit: limit, Log: c.log,
	})
	c.exported = &exportedOperations{resellers: c.reseller}
	c.exports.Connect(exports.Needs{Source: c.exported})
}

// exportedOperations calls the operations that the modules export. It has them once they are mounted.
type exportedOperations struct {
	resellers *reseller.Service
	files     []module.Export
	tools     map[string]exportedTool
}

type exportedTool struct {
	*api.Tool
	parameters map[string]json.RawMessage
}

// open finds the operations.
func (o *exportedOperations) open(e *api.Edge, modules []module.Module) error {
	tools := map[string]exportedTool{}
	var files []module.Export
	for _, m := range modules {
		for _, f := range m.Export {
			t, err := e.Tool(f.Operation)
			if err != nil {
				return fmt.Errorf("section %s exports %s: %w", m.Name, f.File, err)
			}
			var input struct {
				Properties map[string]json.RawMessage `json:"properties"`
			}
			if err := json.Unmarshal(t.Input, &input); err != nil {
				return err
			}
			tools[f.Operation] = exportedTool{t, input.Properties}
			files = append(files, f)
		}
	}
	o.files, o.tools = exports.InOrder(files), tools
	return nil
}

// Files implements exports.Source.
func (o *exportedOperations) Files() []module.Export { return o.files }

// Read implements exports.Source.
func (o *exportedOperations) Read(ctx context.Context, accountID int64, file module.Export, arguments map[string]any) (json.RawMessage, error) {
	t, ok := o.tools[file.Operation]
	if !ok {
		return nil, fmt.Errorf("no operation %q is exported", file.Operation)
	}
	given := maps.Clone(arguments)
	for _, name := range []string{"page", "per_page"} {
		if t.parameters[name] == nil {
			delete(given, name)
		}
	}
	text, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	p := auth.Principal{AccountID: accountID, FirstParty: true, Scopes: auth.ReadScopes()}
	if t.ByKey() {
		if p, err = o.resellers.Principal(ctx, accountID, false); err != nil {
			return nil, err
		}
	}
	if file.Raw {
		return t.Download(ctx, p, text)
	}
	return t.Call(ctx, p, text)
}

// exportOwners tells the owners of accounts of archives of their data.
type exportOwners struct{ accounts *account.Service }

// Owner implements exports.Owners.
func (o exportOwners) Owner(ctx context.Context, q db.Querier, accountID int64) (exports.Owner, error) {
	p, err := o.accounts.Profile(ctx, q, accountID)
	return exports.Owner{Email: p.Email, Locale: p.Locale, Open: p.Open()}, err
}

// Requested implements exports.Owners.
func (o exportOwners) Requested(ctx context.Context, tx *db.Tx, accountID int64) error {
	return o.accounts.Noted(ctx, tx, accountID, account.EventExportRequested)
}

// Downloaded implements exports.Owners.
func (o exportOwners) Downloaded(ctx context.Context, tx *db.Tx, accountID int64) error {
	return o.accounts.Noted(ctx, tx, accountID, account.EventExportDownloaded)
}

// Ready implements exports.Owners.
func (o exportOwners) Ready(ctx context.Context, tx *db.Tx, accountID int64, by auth.Caller) error {
	return o.accounts.MailExportReady(ctx, tx, accountID, account.Client{Address: by.Address, UserAgent: by.UserAgent})
}
