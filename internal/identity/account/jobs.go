package account

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/port/mailer"
)

// Register adds this section's workers.
func (s *Service) Register(w *river.Workers) {
	river.AddWorker(w, &mailWorker{service: s})
	jobs.Work(w, func(ctx context.Context, a recoverArgs) error { return s.startRecovery(ctx, a.Email) })
	jobs.Work(w, func(ctx context.Context, _ cleanArgs) error { return s.Clean(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Hour, cleanArgs{})
}

// cleanArgs is the periodic job that removes what has expired.
type cleanArgs struct{}

func (cleanArgs) Kind() string { return "account.clean" }

// Clean removes expired ceremonies, links and sessions.
func (s *Service) Clean(ctx context.Context) error { return s.DB.InTx(ctx, deleteStale) }

// recoverArgs asks for a recovery link.
type recoverArgs struct {
	Email string `json:"email"`
}

func (recoverArgs) Kind() string { return "account.recover" }

// mailArgs asks for one mail to an account's owner. It holds no secret.
type mailArgs struct {
	Mail      mailKind `json:"mail"`
	AccountID int64    `json:"account_id"`
	// TokenID is the link that the mail brings, 0 for none.
	TokenID int64 `json:"token_id,omitempty"`
	// To is the recipient when it is not the account's address.
	To string    `json:"to,omitempty"`
	At time.Time `json:"at"`
	// Address and UserAgent are those of the request.
	Address   string `json:"address,omitempty"`
	UserAgent string `json:"user_agent,omitempty"`
}

func (mailArgs) Kind() string { return "account.mail" }

type mailWorker struct {
	river.WorkerDefaults[mailArgs]
	service *Service
}

func (w *mailWorker) Work(ctx context.Context, job *river.Job[mailArgs]) error {
	err := w.service.sendMail(ctx, "account-"+strconv.FormatInt(job.ID, 10), job.Args)
	if errors.Is(err, mailer.ErrRejected) {
		return jobs.Cancel(err)
	}
	return err
}

// sendMail sends one mail. It does not send a link again that is used, void, expired or sent already.
func (s *Service) sendMail(ctx context.Context, id string, a mailArgs) error {
	p, err := profile(ctx, s.DB, a.AccountID)
	if err != nil {
		return err
	}
	if p.ClosedAt != nil && a.Mail != mailClosed {
		return nil
	}
	to, token := p.Email, ""
	if a.To != "" {
		to = a.To
	}
	if a.TokenID != 0 {
		l, err := tokenByID(ctx, s.DB, a.AccountID, a.TokenID, s.Clock.Now())
		if errors.Is(err, ErrLink) || err == nil && (!l.usable || l.sealed == nil) {
			return nil
		}
		if err != nil {
			return err
		}
		plain, err := s.Box.Open(l.sealed, linkAAD(l.hash))
		if err != nil {
			return err
		}
		to, token = l.email, string(plain)
	}
	if err := s.Mailer.Send(ctx, s.compose(id, to, p, a, token)); err != nil {
		return err
	}
	if a.TokenID == 0 {
		return nil
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return mailedToken(ctx, tx, a.TokenID) })
}

// notify mails the owner about a change of the account, at the account's address.
func (s *Service) notify(ctx context.Context, tx *db.Tx, kind mailKind, account int64, c Client) error {
	return s.notifyAt(ctx, tx, kind, account, "", c)
}

func (s *Service) notifyAt(ctx context.Context, tx *db.Tx, kind mailKind, account int64, to string, c Client) error {
	return s.Queue.Enqueue(ctx, tx, mailArgs{
		Mail: kind, AccountID: account, To: to, At: tx.Now, Address: c.address(), UserAgent: c.userAgent(),
	}, nil)
}

// MailExportReady tells the owner that the archive of the account's data can be downloaded, which c has asked for.
func (s *Service) MailExportReady(ctx context.Context, tx *db.Tx, account int64, c Client) error {
	return s.notify(ctx, tx, mailExportReady, account, c)
}

// mailKind names a mail; its texts are account.mail.<kind>.subject and .text.
type mailKind string

const (
	mailWelcome          mailKind = "welcome"
	mailVerifyEmail      mailKind = "verify_email"
	mailEmailChanged     mailKind = "email_changed"
	mailRecovery         mailKind = "recovery"
	mailSignedIn         mailKind = "signed_in"
	mailPasswordChanged  mailKind = "password_changed"
	mailTwoFactorOn      mailKind = "two_factor_on"
	mailTwoFactorOff     mailKind = "two_factor_off"
	mailRecoveryCodeUsed mailKind = "recovery_code_used"
	mailPasskeyAdded     mailKind = "passkey_added"
	mailPasskeyRemoved   mailKind = "passkey_removed"
	mailExportReady      mailKind = "export_ready"
	mailClosed           mailKind = "closed"
)
