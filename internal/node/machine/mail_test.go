package machine_test

import (
	"context"
	"errors"
	"fmt"
	"net/smtp"
	"reflect"
	"testing"
	"time"

	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/node/mailguard"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
)

// TestAMachineWhoseSitesReachMailServersOffersNoMail: it would be blamed for what they send.
func TestAMachineWhoseSitesReachMailServersOffersNoMail(t *testing.T) {
	cfg := config(t)
	cfg.Mail = machine.Mail{Hostname: "mx.stead.test"}
	var asked mailguard.Users
	cfg.Guard = func(_ context.Context, u mailguard.Users) error {
		asked = u
		return errors.New("no nftables here")
	}
	m := open(t, cfg)
	t.Cleanup(func() { must(t, m.Close()) })
	if asked != (mailguard.Users{First: cfg.UIDMin, Last: cfg.UIDMax}) {
		t.Errorf("the rules are for %+v", asked)
	}
	_, err := panel.Of[panel.Mail](panelnode.New(m.Node), panel.CapMail)
	if panel.KindOf(err) != panel.ErrUnsupported {
		t.Errorf("mail is offered: %v", err)
	}
	if _, err := panel.Of[panel.Sites](panelnode.New(m.Node), panel.CapSites); err != nil {
		t.Errorf("sites are not: %v", err)
	}
}

func TestAMachineTakesPartInMail(t *testing.T) {
	cfg := config(t)
	cfg.Mail = machine.Mail{Hostname: "mx.stead.test"}
	ports := reflect.ValueOf(&cfg.Mail.Ports).Elem()
	for i := range ports.NumField() {
		ports.Field(i).SetInt(int64(testkit.Port(t)))
	}
	m := open(t, cfg)
	_, err := m.CreateAccount(t.Context(), panel.AccountSpec{Ref: "1", Username: "post", PrimaryDomain: "post.example"})
	must(t, err)
	t.Cleanup(func() { must(t, m.DeleteAccount(context.Background(), "1")); must(t, m.Close()) })
	mail, err := panel.Of[panel.Mail](panelnode.New(m.Node), panel.CapMail)
	must(t, err)
	_, err = mail.SetMailbox(t.Context(), "1", panel.Mailbox{
		Address: "info@post.example", PasswordHash: "{BLF-CRYPT}$2a$04$7Zk0wPq0hQGqCkqS0nq0eOVj1yK7hD0b8oJH3jz7VYw0Xv8m8yqTe", QuotaMB: 5,
	})
	must(t, err)
	server, err := mail.MailServer(t.Context(), "1")
	must(t, err)
	if server.Hostname != "mx.stead.test" || server.IMAPS != cfg.Mail.Ports.IMAPS || server.Submissions != cfg.Mail.Ports.Submissions {
		t.Errorf("server %+v", server)
	}
	must(t, m.Close())
	m = open(t, cfg) // another agent, with the daemons of the former
	c, err := smtp.Dial(fmt.Sprintf("127.0.0.1:%d", cfg.Mail.Ports.SMTP))
	must(t, err)
	must(t, c.Mail("x@outside.example"))
	must(t, c.Rcpt("info@post.example"))
	data, err := c.Data()
	must(t, err)
	_, err = data.Write([]byte("Subject: x\r\n\r\nx\r\n"))
	must(t, errors.Join(err, data.Close(), c.Quit()))
	logs, err := panel.Of[panel.Logs](panelnode.New(m.Node), panel.CapLogs)
	must(t, err)
	testkit.Eventually(t, time.Minute, func() bool {
		page, err := logs.ReadLog(t.Context(), "1", panel.LogQuery{Type: panel.LogMail, Text: "x@outside.example", Limit: 10})
		return err == nil && len(page.Lines) == 1
	}, "the letter is in the account's log")
}
