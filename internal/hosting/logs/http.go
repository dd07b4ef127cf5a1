package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/sse"
	"stead.dev/stead/internal/port/panel"
)

// lineWire is a line of a log (resources, section 22).
type lineWire struct {
	At      time.Time     `json:"at"`
	Source  panel.LogType `json:"source" enum:"access,error,php,mail,cron"`
	Level   string        `json:"level" enum:"debug,info,warning,error,critical"`
	Message string        `json:"message"`
	IP      *string       `json:"ip" doc:"Of the visitor or the other server"`
	Status  *int          `json:"status" doc:"Of HTTP or SMTP, or the exit code of a program"`
	Path    *string       `json:"path" doc:"Of the request, without its query, or the command"`
	Cursor  string        `json:"cursor" doc:"Where the line stands"`
}

func wireOf(l panel.LogLine) lineWire {
	w := lineWire{At: l.At, Source: l.Source, Level: l.Level, Message: l.Message, Cursor: l.Cursor}
	if l.IP != "" {
		w.IP = &l.IP
	}
	if l.Path != "" {
		w.Path = &l.Path
	}
	if l.Status != 0 || l.Source == panel.LogCron {
		w.Status = &l.Status
	}
	return w
}

// listWire is the envelope of lists. A log has no pages that can be counted: what counts is next_cursor.
type listWire struct {
	Data []lineWire `json:"data"`
	Meta metaWire   `json:"meta"`
}

type metaWire struct {
	Page       int     `json:"page" doc:"Always 1"`
	PerPage    int     `json:"per_page" doc:"The limit"`
	Total      int     `json:"total" doc:"Lines of this answer"`
	LastPage   int     `json:"last_page" doc:"Always 1"`
	NextCursor *string `json:"next_cursor" doc:"The cursor of older lines; null when there are none. A search may go on though an answer was short or empty"`
}

type listIn struct {
	Service int64         `path:"service" minimum:"1" doc:"Id of the service"`
	Type    panel.LogType `query:"type" enum:"access,error,php,mail,cron" default:"access" doc:"Which log"`
	Q       string        `query:"q" maxLength:"200" doc:"Lines that contain it, upper and lower case alike"`
	Since   string        `query:"since" format:"date-time" doc:"Not before"`
	Until   string        `query:"until" format:"date-time" doc:"Before"`
	Cursor  string        `query:"cursor" maxLength:"64" doc:"next_cursor of a former answer; with follow the cursor of the last line that is known"`
	Limit   int           `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"How many lines at most, the newest ones"`
	Follow  bool          `query:"follow" doc:"1 streams lines as they are written"`
	LastID  string        `header:"Last-Event-ID" maxLength:"64" doc:"With follow: the id of the last event that was received"`
}

// query is the request in the words of the panel.
func (in *listIn) query() (panel.LogQuery, error) {
	q := panel.LogQuery{Type: in.Type, Text: in.Q, Limit: in.Limit}
	for name, of := range map[string]struct {
		text string
		at   *time.Time
	}{"since": {in.Since, &q.Since}, "until": {in.Until, &q.Until}} {
		if of.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, of.text)
		if err != nil {
			return q, fault.Invalid(name, "logs_time")
		}
		*of.at = at
	}
	if in.Follow {
		q.After = cmp.Or(in.LastID, in.Cursor)
	} else {
		q.Before = in.Cursor
	}
	return q, nil
}

// Operations are this section's part of the specification's section "Service management"; resources,
// section 22.
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, section "Service management": logs.
		api.Operation[listIn, listWire]{
			ID: "logs.list", Method: http.MethodGet, Path: "/api/v1/services/{service}/logs", Section: api.ServiceManagement,
			Auth: api.Token, Scopes: []string{auth.ScopeServicesRead}, Summary: "Read a log of a service, the newest line first, or follow it",
			Description: "With `follow=1` the answer is a stream of server-sent events, each a line as JSON with the line's cursor as its id: " +
				"those after `Last-Event-ID`, or those to come. Comments show that the stream lives. It ends after an hour; come again " +
				"with `Last-Event-ID`.",
			Errors: []*fault.Def{
				fault.NotFound, fault.ServiceNotActive, fault.UnsupportedOperation, fault.PanelUnreachable, fault.PanelBusy, fault.LimitReached,
				fault.Validation,
			},
			Stream: s.serve,
			Document: func(op *huma.Operation) {
				op.Responses["200"].Content[sse.ContentType] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
			},
		},
		site.Read(api.Operation[statisticsIn, statisticsWire]{
			ID: "logs.statistics", Path: "/api/v1/services/{service}/statistics", Summary: "See the visits and the traffic of a service by day",
			Description: "Visitors, page views, requests, traffic and answers by day, the most visited pages, and the disk by part. The hosting " +
				"machine counts its own log; programs that say what they are count apart. It keeps no address: visitors are counted by a hash " +
				"whose key is thrown away each day. Days are kept for 400 days.",
			Errors: []*fault.Def{
				fault.NotFound, fault.ServiceNotActive, fault.UnsupportedOperation, fault.PanelUnreachable, fault.PanelBusy, fault.Validation,
			},
			Handle: func(ctx context.Context, p auth.Principal, in *statisticsIn) (*statisticsWire, error) {
				v, used, err := s.statistics(ctx, p.AccountID, in.Service, in.Days)
				if err != nil {
					return nil, err
				}
				return statisticsOf(v, used), nil
			},
		}),
	}
}

type statisticsIn struct {
	site.ServiceIn
	Days int `query:"days" minimum:"1" maximum:"400" default:"30" doc:"How many days, the present one included"`
}

// dayWire is a day of a service's sites.
type dayWire struct {
	Date     string     `json:"date" format:"date" doc:"In UTC"`
	Visitors int64      `json:"visitors" doc:"People: an address with a browser counts once a day. Estimated, by 2% at worst when there are many"`
	Views    int64      `json:"views" doc:"Pages that people looked at"`
	Requests int64      `json:"requests" doc:"All that was asked for, such as pictures"`
	Bots     int64      `json:"bots" doc:"Requests by programs that say so, such as search engines"`
	Bytes    int64      `json:"bytes" doc:"Sent"`
	Statuses statusWire `json:"statuses" doc:"How the requests were answered"`
}

type statusWire struct {
	Fine      int64 `json:"2xx" doc:"Answered"`
	Redirects int64 `json:"3xx" doc:"Sent elsewhere, or unchanged"`
	Refused   int64 `json:"4xx" doc:"Not found or refused"`
	Failed    int64 `json:"5xx" doc:"The site failed"`
}

type pageWire struct {
	Path  string `json:"path" doc:"Without the query"`
	Views int64  `json:"views"`
}

type diskWire struct {
	Files     int64 `json:"files"`
	Databases int64 `json:"databases"`
	Mail      int64 `json:"mail"`
}

type statisticsWire struct {
	Days  []dayWire  `json:"days" doc:"The oldest first, beginning with the first day that was counted, without a gap"`
	Pages []pageWire `json:"pages" doc:"The 20 most visited of the last month, or of the days that were asked for when these are fewer"`
	Disk  *diskWire  `json:"disk" doc:"Bytes, by part; null where the hosting server does not measure"`
}

func statisticsOf(v panel.Visits, used *panel.Usage) *statisticsWire {
	w := &statisticsWire{Days: []dayWire{}, Pages: []pageWire{}}
	for _, d := range v.Days {
		for len(w.Days) > 0 && len(w.Days) < panel.MaxVisitDays {
			next := following(w.Days[len(w.Days)-1].Date)
			if next >= d.Date {
				break
			}
			w.Days = append(w.Days, dayWire{Date: next})
		}
		w.Days = append(w.Days, dayWire{
			Date: d.Date, Visitors: d.Visitors, Views: d.Views, Requests: d.Requests, Bots: d.Bots, Bytes: d.Bytes,
			Statuses: statusWire{Fine: d.Status2xx, Redirects: d.Status3xx, Refused: d.Status4xx, Failed: d.Status5xx},
		})
	}
	for _, p := range v.Pages {
		w.Pages = append(w.Pages, pageWire(p))
	}
	if used != nil {
		w.Disk = &diskWire{
			Files: max(0, used.DiskBytes-used.DatabaseBytes-used.MailBytes), Databases: used.DatabaseBytes, Mail: used.MailBytes,
		}
	}
	return w
}

// following is the day after a day.
func following(day string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return "9999-12-31" // no panel says such a thing
	}
	return at.AddDate(0, 0, 1).Format(time.DateOnly)
}

func (s *Service) serve(ctx context.Context, p auth.Principal, in *listIn, w http.ResponseWriter, r *http.Request) error {
	q, err := in.query()
	if err != nil {
		return err
	}
	if in.Follow {
		return s.stream(ctx, p, in.Service, q, w)
	}
	// A search may read much; who waits for it may leave, but not for ever.
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	page, err := s.read(ctx, p.AccountID, in.Service, q)
	if err != nil {
		return err
	}
	answer := listWire{Data: make([]lineWire, len(page.Lines)), Meta: metaWire{Page: 1, PerPage: q.Limit, Total: len(page.Lines), LastPage: 1}}
	for i, l := range page.Lines {
		answer.Data[i] = wireOf(l)
	}
	if page.Before != "" {
		answer.Meta.NextCursor = &page.Before
	}
	return api.WriteList(w, r, answer)
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

const (
	readTime = 30 * time.Second
	// longest is the longest line that a panel sends.
	longest = 1 << 20
)

// stream passes a log on as server-sent events.
func (s *Service) stream(ctx context.Context, p auth.Principal, serviceID int64, q panel.LogQuery, w http.ResponseWriter) error {
	ctx, cancel := context.WithTimeout(ctx, sse.Life)
	defer cancel()
	lines, err := s.follow(ctx, p, serviceID, q)
	if err != nil {
		return err
	}
	defer func() { _ = lines.Close() }() // it was read
	go func() {
		select {
		case <-s.Ending:
			cancel() // the client comes again, to another server or the next
		case <-ctx.Done():
		}
	}()
	out := sse.Begin(w)
	if !out.Flush() {
		return nil // the client left
	}
	in := bufio.NewScanner(lines)
	in.Buffer(make([]byte, 0, 64<<10), longest)
	for in.Scan() {
		if err := write(out, in.Bytes()); err != nil {
			return err
		}
		if !out.Flush() {
			return nil // the client left
		}
	}
	if err := in.Err(); err != nil && ctx.Err() == nil && !errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("logs: stream of service %d: %w", serviceID, err)
	}
	return nil
}

// write writes a line of a panel's stream as an event; an empty one shows that the panel lives.
func write(out *sse.Writer, line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		out.Alive()
		return nil
	}
	var l panel.LogLine
	if err := json.Unmarshal(line, &l); err != nil {
		return fmt.Errorf("logs: a line of the panel: %w", err)
	}
	data, err := encode(wireOf(l))
	if err != nil {
		return err
	}
	out.Event(l.Cursor, "", data)
	return nil
}
