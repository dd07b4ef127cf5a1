package webui

import (
	"net/http"

	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/platform/i18n"
)

func (ui *UI) mailingRoutes(mux *http.ServeMux) {
	if ui.Notifications == nil {
		return
	}
	ui.handle(mux, "GET /notifications/unsubscribe/{token}", ui.showMailing)
	ui.handle(mux, "POST /notifications/unsubscribe/{token}", ui.endMailing)
}

// mailingData is what the page "mailing" shows.
type mailingData struct {
	notifications.Mailing
	// Topic is the title of the mailing's topic.
	Topic string
	Fixed bool
	Token string
}

// showMailing changes nothing: programs that check mails for harm open their links.
func (ui *UI) showMailing(w http.ResponseWriter, r *http.Request) {
	token := r.PathValue("token")
	m, err := ui.Notifications.Mailing(r.Context(), token)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, http.StatusOK, "mailing", mailingData{
		Mailing: m, Topic: i18n.T(i18n.Lang(r.Context()), "notification.topic."+string(m.Topic)+".title", nil),
		Fixed: m.Topic == notifications.Essential, Token: token,
	})
}

// endMailing is also what a mail program calls for its reader (RFC 8058).
func (ui *UI) endMailing(w http.ResponseWriter, r *http.Request) {
	if err := ui.Notifications.EndMailing(r.Context(), r.PathValue("token")); err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.showMailing(w, r)
}
