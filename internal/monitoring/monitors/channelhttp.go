package monitors

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// channelWire is an alert channel (resources, section 8).
type channelWire struct {
	ID           int64       `json:"id"`
	Type         channelType `json:"type" enum:"email,webhook,telegram,slack,discord,push"`
	Name         string      `json:"name"`
	Target       string      `json:"target" doc:"Masked; the word push for your own devices"`
	Verified     bool        `json:"verified" doc:"Whether its owner has proved to read it; before that it gets no alerts"`
	Events       string      `json:"events" enum:"up_down,down,up"`
	DelayS       int         `json:"delay_s"`
	ReminderS    int         `json:"reminder_s"`
	LastErrorKey *string     `json:"last_error_key" doc:"Why the last message did not arrive"`
	Secret       *string     `json:"secret,omitempty" doc:"What signs a webhook; it is shown once, when the channel is made"`
	CreatedAt    time.Time   `json:"created_at"`
}

func wireChannel(c channel) channelWire {
	return channelWire{
		ID: c.id, Type: c.typ, Name: c.name, Target: c.hint, Verified: c.verifiedAt != nil, Events: c.events, DelayS: c.delayS, ReminderS: c.reminderS,
		LastErrorKey: c.lastErrorKey, CreatedAt: c.createdAt,
	}
}

// channelSettings are what an owner sets.
type channelSettings struct {
	Name      *string `json:"name,omitempty" maxLength:"100" doc:"The masked address when it is left out"`
	Events    *string `json:"events,omitempty" enum:"up_down,down,up" doc:"up_down when it is left out"`
	DelayS    *int    `json:"delay_s,omitempty" minimum:"0" maximum:"86400" doc:"How long something must be down before it is told of"`
	ReminderS *int    `json:"reminder_s,omitempty" minimum:"0" maximum:"604800" doc:"How often it is reminded of an outage; 0: never"`
}

func (in channelSettings) wish() channelWish {
	return channelWish{in.Name, in.Events, in.DelayS, in.ReminderS}
}

type addChannelIn struct {
	Body struct {
		channelSettings
		Type   channelType `json:"type" enum:"email,webhook,telegram,slack,discord,push" doc:"push: your own devices"`
		Target string      `json:"target,omitempty" maxLength:"2048" doc:"An address of mail; an https address of a webhook, of Slack or of Discord; the id of a chat of Telegram; none of push" example:"ops@example.com"`
		Token  string      `json:"token,omitempty" maxLength:"100" doc:"Of your bot of Telegram"`
	}
}

type channelIn struct {
	Channel int64 `path:"alert_channel" minimum:"1" doc:"Id of the alert channel"`
}

type updateChannelIn struct {
	channelIn
	Body channelSettings
}

type verifyIn struct {
	channelIn
	Body struct {
		Code string `json:"code" minLength:"1" maxLength:"20" example:"01234567"`
	}
}

// channelOperations are ours beside the specification's.
func (s *Service) channelOperations() []api.Route {
	const base, named = "/api/v1/alert-channels", "/api/v1/alert-channels/{alert_channel}"
	read, write := []string{auth.ScopeMonitorsRead}, []string{auth.ScopeMonitorsWrite}
	reply := func(c channel, err error) (*channelWire, error) {
		if err != nil {
			return nil, err
		}
		w := wireChannel(c)
		return &w, nil
	}
	return []api.Route{
		api.Operation[page.Params, page.List[channelWire]]{
			ID: "alert_channels.list", Method: http.MethodGet, Path: base, Section: api.Monitors, Auth: api.Token, Scopes: read,
			Description: "Places beside your own notifications: mail addresses, webhooks, chats and your devices. One is used by a monitor" +
				" that names it in `channels`, and only when it is verified.",
			Summary: "List where you are told of your monitors",
			Handle: func(ctx context.Context, p auth.Principal, in *page.Params) (*page.List[channelWire], error) {
				all, err := channelsOf(ctx, s.DB, p.AccountID)
				from := min(in.Offset(), len(all))
				return page.Map(*in, len(all), all[from:min(from+in.Limit(), len(all))], wireChannel), err
			},
		},
		api.Operation[addChannelIn, channelWire]{
			ID: "alert_channels.create", Method: http.MethodPost, Path: base, Section: api.Monitors, Auth: api.Token, Scopes: write,
			Example: `{"type": "email", "target": "ops@example.com", "delay_s": 60}`,
			Summary: "Add a place where you are told of your monitors", Status: http.StatusCreated, Timeout: sendTimeout + 10*time.Second,
			Description: "A code is sent there; give it to `verify` to show that you read it. Webhooks get it as `code`, and are signed as those of resellers. " +
				"Your own devices (`push`) need none.",
			Errors: []*fault.Def{errTarget, fault.LimitReached, fault.AlreadyExists},
			Handle: func(ctx context.Context, p auth.Principal, in *addChannelIn) (*channelWire, error) {
				c, shown, err := s.addChannel(ctx, p.AccountID, in.Body.Type, address{Target: in.Body.Target, Token: in.Body.Token}, in.Body.wish())
				w, err := reply(c, err)
				if err == nil {
					w.Secret = db.OrNull(shown)
				}
				return w, err
			},
		},
		api.Operation[updateChannelIn, channelWire]{
			ID: "alert_channels.update", Method: http.MethodPatch, Path: named, Section: api.Monitors, Auth: api.Token, Scopes: write,
			Description: "Members that are left out keep their values. The target cannot be changed, because nobody would have proven to " +
				"read the new one: add another channel instead.",
			Example: `{"events": "down", "reminder_s": 3600}`,
			Summary: "Change which alerts a place gets, and when",
			Handle: func(ctx context.Context, p auth.Principal, in *updateChannelIn) (*channelWire, error) {
				return reply(s.updateChannel(ctx, p.AccountID, in.Channel, in.Body.wish()))
			},
		},
		api.Operation[channelIn, api.Empty]{
			ID: "alert_channels.delete", Method: http.MethodDelete, Path: named, Section: api.Monitors, Auth: api.Token, Scopes: write,
			Description: "Monitors that name the channel stop alerting there. It cannot be undone.",
			Summary:     "Remove a place where you are told of your monitors",
			Handle: func(ctx context.Context, p auth.Principal, in *channelIn) (*api.Empty, error) {
				return &api.Empty{}, s.removeChannel(ctx, p.AccountID, in.Channel)
			},
		},
		api.Operation[verifyIn, channelWire]{
			ID: "alert_channels.verify", Method: http.MethodPost, Path: named + "/verify", Section: api.Monitors, Auth: api.Token, Scopes: write,
			Description: "`code` is what was sent to the channel when it was added. Until then the channel gets no alerts. The operation " +
				"`alert_channels.test` sends the code again.",
			Example: `{"code": "01234567"}`,
			Summary: "Show by the code that you read a place",
			Handle: func(ctx context.Context, p auth.Principal, in *verifyIn) (*channelWire, error) {
				return reply(s.verifyChannel(ctx, p.AccountID, in.Channel, in.Body.Code))
			},
		},
		api.Operation[channelIn, channelWire]{
			ID: "alert_channels.test", Method: http.MethodPost, Path: named + "/test", Section: api.Monitors, Auth: api.Token, Scopes: write,
			Description: "Sends a test alert to a verified channel, and to one that is not verified its code again. `last_error_key` of " +
				"the answer says why the channel could not be reached.",
			Summary: "Send a test, or the code again", Timeout: sendTimeout + 10*time.Second,
			Handle: func(ctx context.Context, p auth.Principal, in *channelIn) (*channelWire, error) {
				return reply(s.testChannel(ctx, p.AccountID, in.Channel))
			},
		},
	}
}
