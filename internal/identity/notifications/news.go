package notifications

import (
	"context"
	"strconv"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
)

// News is something that the company tells many accounts, in its own words.
type News struct {
	// Key names it: an account has one notification of it.
	Key string
	// ID is that of the announcement.
	ID       int64
	Severity Severity
	Title    i18n.Text
	Text     i18n.Text
	Link     string // path of a page on this site; empty without one
	Mail     bool   // whether those who want mails about news get one
}

// newsKind is the kind of the notifications of news.
const newsKind = "announcement"

// words keep the texts in every language: each reader gets their own.
func (n News) words() map[string]string {
	words := map[string]string{"Link": n.Link}
	for lang, text := range n.Title {
		words["Title."+lang] = text
	}
	for lang, text := range n.Text {
		words["Text."+lang] = text
	}
	return words
}

// Tell makes a notification of news for each of some accounts that has none of it, and counts them. They are pushed and mailed as
// the accounts have chosen.
func (s *Service) Tell(ctx context.Context, tx *db.Tx, n News, accounts []int64) (told int, err error) {
	chosen, err := chosenOf(ctx, tx, NewsTopic, accounts)
	if err != nil {
		return 0, err
	}
	words := n.words()
	for _, accountID := range accounts {
		id, err := insert(ctx, tx, notification{
			accountID: accountID, eventUID: n.Key + "-" + strconv.FormatInt(accountID, 10), kind: newsKind, severity: n.Severity,
			subject: "announcement", subjectID: n.ID, words: words,
		})
		if err != nil {
			return told, err
		}
		if id == 0 {
			continue
		}
		told++
		wanted, found := chosen[accountID]
		if !found {
			wanted = unchosen(NewsTopic)
		}
		if wanted.push {
			if err := s.Pushes.Announce(ctx, tx, accountID, id); err != nil {
				return told, err
			}
		}
		if n.Mail && wanted.mail {
			if err := s.Queue.Enqueue(ctx, tx, mailArgs{NotificationID: id}, nil); err != nil {
				return told, err
			}
		}
	}
	return told, nil
}
