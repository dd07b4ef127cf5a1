package audit

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
)

// Shown is an entry as staff see it.
type Shown struct {
	ID          int64     `json:"id"`
	At          time.Time `json:"at"`
	ActorID     *int64    `json:"actor_id" doc:"Account of the member of staff; null for commands."`
	ActorRole   string    `json:"actor_role"`
	ActorName   string    `json:"actor_name" doc:"Of a command: the user and the machine."`
	Via         string    `json:"via" enum:"panel,api,command,program"`
	Address     string    `json:"address"`
	RequestID   string    `json:"request_id"`
	Action      string    `json:"action" doc:"What was done, such as service.suspend."`
	SubjectKind string    `json:"subject_kind"`
	Subject     string    `json:"subject" doc:"Id or key of what was changed."`
	AccountID   *int64    `json:"account_id" doc:"Customer whom it belongs to."`
	Reason      string    `json:"reason"`
	Before      any       `json:"before" doc:"State before the change; null when there was none."`
	After       any       `json:"after" doc:"State after the change; null when there is none."`
}

func orNothing(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}

// Show converts an entry.
func Show(e Entry) Shown {
	return Shown{
		ID: e.ID, At: e.At, ActorID: orNothing(e.Actor.AccountID), ActorRole: string(e.Actor.Role), ActorName: e.Actor.Name, Via: string(e.Actor.Via),
		Address: e.Actor.Address, RequestID: e.Actor.RequestID, Action: e.Action, SubjectKind: e.Kind, Subject: e.Subject,
		AccountID: orNothing(e.AccountID), Reason: e.Reason, Before: e.Before, After: e.After,
	}
}

type filterIn struct {
	ActorID   int64  `query:"actor_id" minimum:"1" doc:"Account of the member of staff."`
	AccountID int64  `query:"account_id" minimum:"1" doc:"Customer's account."`
	Action    string `query:"action" maxLength:"60" doc:"What was done, such as service.suspend."`
	Kind      string `query:"subject_kind" maxLength:"40" doc:"Only what was done to things of this kind, such as account or service."`
	Subject   string `query:"subject" maxLength:"200" doc:"Id or key of what was changed; needs subject_kind."`
	Via       string `query:"via" enum:"panel,api,command,program" doc:"Only what was done by the panel, the API, a command, or the program by itself."`
	RequestID string `query:"request_id" maxLength:"64" doc:"Id of the request in which it was done."`
	From      string `query:"from" format:"date-time" doc:"From this moment on."`
	To        string `query:"to" format:"date-time" doc:"Before this moment."`
}

func (in filterIn) filter() Filter {
	f := Filter{ActorID: in.ActorID, AccountID: in.AccountID, Action: in.Action, Kind: in.Kind, Subject: in.Subject, Via: in.Via, RequestID: in.RequestID}
	f.From, _ = time.Parse(time.RFC3339, in.From) // the edge has checked the form; empty is the zero time
	f.To, _ = time.Parse(time.RFC3339, in.To)
	return f
}

type listIn struct {
	filterIn
	Cursor int64 `query:"cursor" minimum:"1" doc:"The next_cursor of the page before."`
	Limit  int   `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Entries a page."`
}

type listWire struct {
	Data       []Shown `json:"data"`
	NextCursor *int64  `json:"next_cursor" doc:"Asks for the next page; null on the last one."`
}

type exportIn struct {
	filterIn
	Format string `query:"format" enum:"csv,ndjson" default:"csv" doc:"Form of the file: CSV, or one JSON object on each line."`
}

// Operations are those of the audit log.
func (s *Service) Operations() []api.Route {
	owners := []auth.Role{auth.Owner}
	list := api.ForStaff[listIn, listWire]("audit.list", "/audit", "What staff have done, the newest first", owners)
	list.Description = "Each row has who did what to whom, by which surface and in which request, why, and the state before and after. " +
		"Pages follow one another by `cursor`. Rows are never changed or removed."
	list.Handle = func(ctx context.Context, _ auth.Principal, in *listIn) (*listWire, error) {
		found, err := s.List(ctx, in.filter(), in.Cursor, in.Limit+1)
		if err != nil {
			return nil, err
		}
		out := listWire{Data: []Shown{}}
		if len(found) > in.Limit {
			found = found[:in.Limit]
			out.NextCursor = &found[in.Limit-1].ID
		}
		for _, e := range found {
			out.Data = append(out.Data, Show(e))
		}
		return &out, nil
	}
	export := api.ForStaff[exportIn, api.Empty]("audit.export", "/audit/export", "The audit log as a file, the newest entry first", owners)
	export.Description = "The filters are those of the list. `format` is `csv` or `ndjson`."
	export.ContentTypes = []string{"text/csv", "application/x-ndjson"}
	export.Stream = func(ctx context.Context, _ auth.Principal, in *exportIn, w http.ResponseWriter, _ *http.Request) error {
		return s.export(ctx, in, w)
	}
	return []api.Route{list, export}
}

// exportBatch is how many entries are read at once for a file.
const exportBatch = 500

// Format is the form of an export.
type Format string

// The forms: a table, or a JSON object a line.
const (
	CSV    Format = "csv"
	NDJSON Format = "ndjson"
)

var contentTypes = map[Format]string{CSV: "text/csv; charset=utf-8", NDJSON: "application/x-ndjson"}

func (s *Service) export(ctx context.Context, in *exportIn, w http.ResponseWriter) error {
	format := Format(in.Format)
	w.Header().Set("Content-Type", contentTypes[format])
	w.Header().Set("Content-Disposition", `attachment; filename="audit.`+in.Format+`"`)
	return s.Export(ctx, w, in.filter(), format)
}

// Export writes the entries that match, the newest first.
func (s *Service) Export(ctx context.Context, w io.Writer, f Filter, format Format) error {
	found, err := s.List(ctx, f, 0, exportBatch)
	if err != nil {
		return err
	}
	put, flush := lines(w), func() error { return nil }
	if format == CSV {
		table := csv.NewWriter(w)
		put = func(e Entry) error { return table.Write(record(e)) }
		flush = func() error { table.Flush(); return table.Error() }
		if err := table.Write(columns); err != nil {
			return err
		}
	}
	for {
		for _, e := range found {
			if err := put(e); err != nil {
				return err
			}
		}
		if err := flush(); err != nil || len(found) < exportBatch {
			return err
		}
		if found, err = s.List(ctx, f, found[len(found)-1].ID, exportBatch); err != nil {
			return err
		}
	}
}

func lines(w io.Writer) func(Entry) error {
	out := json.NewEncoder(w)
	return func(e Entry) error { return out.Encode(Show(e)) }
}

var columns = []string{
	"id", "at", "actor_id", "actor_role", "actor_name", "via", "address", "request_id", "action", "subject_kind", "subject", "account_id", "reason",
	"before", "after",
}

func record(e Entry) []string {
	id := func(id int64) string {
		if id == 0 {
			return ""
		}
		return strconv.FormatInt(id, 10)
	}
	return []string{
		strconv.FormatInt(e.ID, 10), e.At.Format(time.RFC3339Nano), id(e.Actor.AccountID), string(e.Actor.Role), cell(e.Actor.Name), string(e.Actor.Via),
		e.Actor.Address, e.Actor.RequestID, e.Action, e.Kind, cell(e.Subject), id(e.AccountID), cell(e.Reason), string(e.Before), string(e.After),
	}
}

// cell keeps spreadsheets from taking a text for a formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
