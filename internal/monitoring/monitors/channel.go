package monitors

import (
	"net/mail"
	"regexp"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outgoing"
)

// channelType is how somebody is told.
type channelType string

// The types of channels (resources, section 8). byPush leads to the devices of the account itself.
const (
	byEmail    channelType = "email"
	byWebhook  channelType = "webhook"
	byTelegram channelType = "telegram"
	bySlack    channelType = "slack"
	byDiscord  channelType = "discord"
	byPush     channelType = "push"
)

// address is where a channel leads, and what is needed to use it. It is sealed.
type address struct {
	Target string `json:"target"`           // an address of mail or of the web, or a chat
	Token  string `json:"token,omitempty"`  // of a Telegram bot
	Secret string `json:"secret,omitempty"` // signs webhooks
}

// channel is a row of monitors_channels.
type channel struct {
	id, accountID int64
	typ           channelType
	name          string
	target        []byte
	hint          string
	events        string
	delayS        int
	reminderS     int
	verifiedAt    *time.Time
	codeHash      []byte
	codeExpiresAt *time.Time
	codeAttempts  int
	notBefore     *time.Time
	lease         *string
	leaseUntil    *time.Time
	lastErrorKey  *string
	createdAt     time.Time
}

const (
	maxAccountChannels = 10
	codeFor            = 30 * time.Minute
	codeMost           = 5
)

var (
	botToken = regexp.MustCompile(`^[0-9]{5,15}:[A-Za-z0-9_-]{20,80}$`)
	chatID   = regexp.MustCompile(`^(-?[0-9]{1,20}|@[A-Za-z0-9_]{4,40})$`)
)

// check refuses an address that nothing can be sent to.
func (a *address) check(typ channelType, allowLoopback bool) error {
	a.Target = strings.TrimSpace(a.Target)
	if typ != byPush && a.Target == "" {
		return fault.Invalid("target", "required")
	}
	switch typ {
	case byPush:
		if a.Target != "" {
			return fault.Invalid("target", "monitor_push")
		}
	case byEmail:
		m, err := mail.ParseAddress(a.Target)
		if err != nil || m.Address != a.Target || len(a.Target) > 254 {
			return fault.Invalid("target", "expected_email")
		}
	case byTelegram:
		if !chatID.MatchString(a.Target) {
			return fault.Invalid("target", "monitor_chat")
		}
		if !botToken.MatchString(a.Token) {
			return fault.Invalid("token", "monitor_bot")
		}
		return nil
	default:
		if outgoing.Check(a.Target, allowLoopback) != nil {
			return errTarget.New()
		}
	}
	if a.Token != "" {
		return fault.Invalid("token", "value")
	}
	return nil
}

// mask shows enough of an address to know it again.
func (a address) mask(typ channelType) string {
	switch typ {
	case byPush:
		return "push"
	case byEmail:
		name, host, _ := strings.Cut(a.Target, "@")
		return string([]rune(name)[:1]) + "…@" + host
	case byTelegram:
		return a.Target
	default:
		rest := strings.TrimPrefix(strings.TrimPrefix(a.Target, "https://"), "http://")
		host, _, _ := strings.Cut(rest, "/")
		host, _, _ = strings.Cut(host, "?")
		return host + "/…"
	}
}

// wants reports whether a channel gets an alert of a kind.
func (c channel) wants(kind alertKind) bool {
	switch c.events {
	case "down":
		return kind != alertUp
	case "up":
		return kind == alertUp
	default:
		return true
	}
}

// alertKind is what an alert tells.
type alertKind string

const (
	alertDown     alertKind = "down"
	alertUp       alertKind = "up"
	alertReminder alertKind = "reminder"
	alertFlapping alertKind = "flapping"
	alertSettled  alertKind = "settled"
	alertSSL      alertKind = "ssl"
	alertDomain   alertKind = "domain"
)

// alertData is the monitor as it was when an alert was written.
type alertData struct {
	MonitorID int64      `json:"monitor_id"`
	Name      string     `json:"name"`
	Type      string     `json:"type"`
	Status    Status     `json:"status"`
	ErrorKey  string     `json:"error_key,omitempty"`
	Since     time.Time  `json:"since"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// alertRow is a row of monitors_alerts.
type alertRow struct {
	id, channelID, monitorID, outageID int64
	kind                               alertKind
	n                                  int64
	data                               string
	notBefore                          time.Time
	attempts                           int
	createdAt                          time.Time
}

const (
	alertAttempts = 10
	alertAge      = 6 * time.Hour
	alertLease    = 60 * time.Second
	keepAlerts    = 30 * day
)

// alertPause is how long a channel is left alone after so many failures of an alert.
func alertPause(attempts int) time.Duration {
	return min(5*time.Second<<min(attempts, 10), 15*time.Minute)
}
