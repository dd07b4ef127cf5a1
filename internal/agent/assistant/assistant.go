package assistant

import (
	"strings"
	"time"
	"unicode"
)

// message is a row of the table.
type message struct {
	id        int64
	with      party
	role      string
	content   string
	sources   []Source
	handover  bool
	worded    bool
	createdAt time.Time
}

// party is with whom a conversation is: an account, by one application.
type party struct{ accountID, applicationID int64 }

// The roles.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// Source is something that an answer is from.
type Source struct {
	Kind  string `json:"kind" enum:"article,service,domain,wallet"`
	Title string `json:"title"`
	URL   string `json:"url" doc:"The page of an article, or the page of the panel that shows it"`
	// text is what it says, for the answer.
	text string
}

// Article is what the knowledge base knows.
type Article struct {
	Slug, Lang, Title, Excerpt string
}

// Hosting and Domain are what the account has.
type (
	Hosting struct {
		ID             int64
		Domain, Status string
		ExpiresAt      *time.Time
	}
	Domain struct {
		ID           int64
		Name, Status string
		ExpiresAt    *time.Time
	}
)

// Records are what an account has, as far as answers need it and the asker may read it.
type Records struct {
	Balance  string // as it is shown; empty when it may not be read
	Services []Hosting
	Domains  []Domain
}

// topics are the beginnings of words by which a question is about something, in Uzbek, Russian and English.
var topics = map[string][]string{
	"wallet":  {"balan", "wallet", "money", "top-up", "topup", "баланс", "кошел", "деньг", "денег", "пополн", "hamyon", "pul", "hisob"},
	"service": {"service", "hosting", "site", "website", "услуг", "хостинг", "сайт", "xizmat", "xosting", "sayt"},
	"domain":  {"domain", "домен", "domen"},
	"expiry":  {"expir", "renew", "until", "истек", "продл", "законч", "muddat", "uzayt", "tuga"},
	"person":  {"human", "person", "operator", "support", "человек", "оператор", "поддержк", "сотрудник", "odam", "xodim", "yordamchi", "operator"},
}

// about tells whether a question is about a topic.
func about(words []string, topic string) bool {
	for _, w := range words {
		for _, begin := range topics[topic] {
			if strings.HasPrefix(w, begin) {
				return true
			}
		}
	}
	return false
}

// wordsOf are the words of a question, in lower case.
func wordsOf(question string) []string {
	return strings.FieldsFunc(strings.ToLower(question), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-.'ʻʼ", r)
	})
}

const mostAnswer = 4000 // bytes of a model's text
