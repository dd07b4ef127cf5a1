package wallet

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// csvType is the media type of the files (RFC 4180).
const csvType = "text/csv; charset=utf-8"

// TransactionsRoute is the filtered history, which resellers have below their own
// address too.
func (s *Service) TransactionsRoute() api.Route {
	// Added to the contract: the history of GET /api/v1/wallet, with filters.
	return api.Operation[transactionsIn, page.List[transactionWire]]{
		ID: "wallet.transactions", Method: http.MethodGet, Path: "/api/v1/wallet/transactions", Section: api.Wallet, Auth: api.Token,
		Description: "Each movement with its amount, the balance after it and what it was for. Filters can be combined; `to` itself is" +
			" not in the answer.",
		Scopes: []string{auth.ScopeWalletRead}, Summary: "Movements of money, newest first", Handle: s.listTransactions,
	}
}

// histories are the operations that tell what has happened to a wallet.
func (s *Service) histories() []api.Route {
	csvAnswer := func(op *huma.Operation) {
		op.Responses["200"].Description = "A file of comma-separated values, UTF-8, with a line of names first; amounts are US dollars. " +
			"A text that spreadsheets would take for a formula has an apostrophe before it."
	}
	return []api.Route{
		s.TransactionsRoute(),
		// Added to the contract.
		api.Operation[filterIn, api.Empty]{
			ID: "wallet.transactions_csv", Method: http.MethodGet, Path: "/api/v1/wallet/transactions.csv", Section: api.Wallet, Auth: api.Token,
			Description: "The same movements and filters as the list, without pages. Comma-separated UTF-8 with a line of names; amounts " +
				"are dollars with a point.",
			Scopes: []string{auth.ScopeWalletRead}, Summary: "Movements of money as a CSV file, oldest first", Stream: s.transactionsCSV,
			ContentTypes: []string{"text/csv"}, Document: csvAnswer,
		},
		// Added to the contract.
		api.Operation[statementIn, statementWire]{
			ID: "wallet.statement", Method: http.MethodGet, Path: "/api/v1/wallet/statement", Section: api.Wallet, Auth: api.Token,
			Scopes: []string{auth.ScopeWalletRead}, Summary: "Statement of a month: opening balance, movements, closing balance", Handle: s.getStatement,
			Description: "Months are those of UTC. The closing balance of a month is the opening one of the next; that of the month that is " +
				"running is what it is now (`final` is false).",
		},
		// Added to the contract.
		api.Operation[monthIn, api.Empty]{
			ID: "wallet.statement_csv", Method: http.MethodGet, Path: "/api/v1/wallet/statement.csv", Section: api.Wallet, Auth: api.Token,
			Description: "A month of UTC with lines for the opening and closing balance. Comma-separated UTF-8 with a line of names; " +
				"amounts are dollars with a point.",
			Scopes: []string{auth.ScopeWalletRead}, Summary: "Statement of a month as a CSV file", Stream: s.statementCSV,
			ContentTypes: []string{"text/csv"}, Document: csvAnswer,
		},
	}
}

type filterIn struct {
	Type      []string `query:"type" maxItems:"20" doc:"Only movements of these types, comma separated."`
	ClientRef string   `query:"client_ref" maxLength:"256" doc:"Only those with exactly this tag."`
	From      string   `query:"from" maxLength:"40" doc:"Only those from this moment on: a date-time, or a date of UTC." example:"2026-11-01"`
	To        string   `query:"to" maxLength:"40" doc:"Only those before this moment." example:"2026-12-01"`
}

func (in filterIn) filter() (Filter, error) { return newFilter(in.Type, in.ClientRef, in.From, in.To) }

type transactionsIn struct {
	filterIn
	page.Params
}

func (s *Service) listTransactions(ctx context.Context, p auth.Principal, in *transactionsIn) (*page.List[transactionWire], error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	total, err := countChosen(ctx, s.DB, p.AccountID, f)
	if err != nil {
		return nil, err
	}
	rows, err := chosen(ctx, s.DB, p.AccountID, f, in.Limit(), in.Offset())
	if err != nil {
		return nil, err
	}
	return page.Of(in.Params, total, wireTransactions(ctx, rows)), nil
}

func wireTransactions(ctx context.Context, rows []transaction) []transactionWire {
	all := make([]transactionWire, len(rows))
	for i, t := range rows {
		all[i] = wireTransaction(ctx, t)
	}
	return all
}

// words are what the movement is called, in the language of the request.
func (t transaction) words(ctx context.Context) string {
	if t.Description != "" {
		return t.Description
	}
	if t.Type == TypeReversal && t.Reference.Type != "topup" {
		return i18n.T(i18n.Lang(ctx), "wallet.transaction.reclaim", nil)
	}
	return i18n.T(i18n.Lang(ctx), "wallet.transaction."+string(t.Type), map[string]any{"ID": strconv.FormatInt(t.Reference.ID, 10)})
}

func (s *Service) transactionsCSV(ctx context.Context, p auth.Principal, in *filterIn, w http.ResponseWriter, _ *http.Request) error {
	f, err := in.filter()
	if err != nil {
		return err
	}
	asFile(w, "transactions.csv")
	return writeCSV(ctx, s.DB, w, p.AccountID, f, nil, nil)
}

// asFile names the file that a browser saves.
func asFile(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", csvType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

type monthIn struct {
	Month string `query:"month" required:"true" pattern:"^[0-9]{4}-(0[1-9]|1[0-2])$" doc:"The month, of UTC." example:"2026-11"`
}

type statementIn struct {
	monthIn
	page.Params
}

type statementWire struct {
	Month    string            `json:"month"`
	From     time.Time         `json:"from"`
	To       time.Time         `json:"to" doc:"The first moment after the month."`
	Final    bool              `json:"final" doc:"The month is over."`
	Opening  money.Money       `json:"opening_balance"`
	Incoming money.Money       `json:"incoming" doc:"Sum of what came in."`
	Outgoing money.Money       `json:"outgoing" doc:"Sum of what went out, negative."`
	Closing  money.Money       `json:"closing_balance"`
	Data     []transactionWire `json:"data" doc:"The movements, newest first."`
	Meta     page.Meta         `json:"meta"`
}

func (s *Service) getStatement(ctx context.Context, p auth.Principal, in *statementIn) (*statementWire, error) {
	st, err := statementOf(ctx, s.DB, p.AccountID, in.Month)
	if err != nil {
		return nil, err
	}
	f := Filter{From: st.From, To: st.To}
	total, err := countChosen(ctx, s.DB, p.AccountID, f)
	if err != nil {
		return nil, err
	}
	rows, err := chosen(ctx, s.DB, p.AccountID, f, in.Limit(), in.Offset())
	if err != nil {
		return nil, err
	}
	return &statementWire{
		Month: st.Month, From: st.From, To: st.To, Final: !s.Clock.Now().Before(st.To), Opening: money.Wire(ctx, st.Opening),
		Incoming: money.Wire(ctx, st.Incoming), Outgoing: money.Wire(ctx, st.Outgoing), Closing: money.Wire(ctx, st.Closing),
		Data: wireTransactions(ctx, rows), Meta: page.MetaOf(in.Params, total),
	}, nil
}

func (s *Service) statementCSV(ctx context.Context, p auth.Principal, in *monthIn, w http.ResponseWriter, _ *http.Request) error {
	st, err := statementOf(ctx, s.DB, p.AccountID, in.Month)
	if err != nil {
		return err
	}
	lang := i18n.Lang(ctx)
	asFile(w, "statement-"+st.Month+".csv")
	return writeCSV(ctx, s.DB, w, p.AccountID, Filter{From: st.From, To: st.To},
		csvBalance(i18n.T(lang, "wallet.statement.opening", nil), st.From, st.Opening),
		func(sum money.USDCents) []string { // of what was written: in a month that is running, more may have come since
			return csvBalance(i18n.T(lang, "wallet.statement.closing", nil), st.To, st.Opening+sum)
		})
}
