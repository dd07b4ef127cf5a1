package mail

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	netmail "net/mail"
	"net/smtp"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// login is the access by which an account's programs send: from this machine only, as addresses of the account's
// domains. Only the account can read the file.
type login struct {
	Address  string `json:"address"` // host and port
	User     string `json:"user"`
	Password string `json:"password"`
	Sender   string `json:"sender"` // when none is given
}

// file is the content that Submit reads: the password is meant for the account's programs.
func (l login) file() ([]byte, error) { return json.Marshal(l) } //nolint:gosec // it is meant to be there

// Codes of sysexits.h, which report the result of a message.
const (
	exUsage    = 64
	exNoUser   = 67
	exTempFail = 75
	exNoPerm   = 77
)

type exit struct {
	code int
	err  error
}

func (e exit) Error() string { return e.err.Error() }
func (e exit) Unwrap() error { return e.err }

// maxMessage bounds a message, as Postfix does.
const maxMessage = 50 << 20

// maxRecipients bounds those of a message that is sent. Postfix answers 452 to the next one, as if it could be sent later.
const maxRecipients = 5000

// submitTimeout bounds one message.
const submitTimeout = 2 * time.Minute

// Submit is sendmail(1) for the programs of accounts: it reads a message from stdin, with the machine's line ends, and
// submits it to Postfix as the account of the process. It knows -f, -t, -i and -F, and ignores sendmail's other
// options.
func Submit(ctx context.Context, dir string, args []string, stdin io.Reader) error {
	job, err := parseSendmail(args)
	if err != nil {
		return exit{exUsage, err}
	}
	data, err := os.ReadFile(filepath.Join(dir, "submit", strconv.Itoa(os.Geteuid()))) //nolint:gosec // runs as the user who says the directory
	if err != nil {
		return exit{exNoPerm, errors.New("this user does not send mail")}
	}
	var l login
	if err := json.Unmarshal(data, &l); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, "submit"), err)
	}
	message, err := io.ReadAll(io.LimitReader(stdin, maxMessage+1))
	if err != nil {
		return err
	}
	if len(message) > maxMessage {
		return exit{exUsage, errors.New("the message is too large")}
	}
	if message, err = job.prepare(message); err != nil {
		return exit{exUsage, err}
	}
	if len(job.recipients) > maxRecipients {
		return exit{exNoPerm, fmt.Errorf("the message has %d recipients: send it to fewer at a time", len(job.recipients))}
	}
	if job.sender == "" {
		job.sender = l.Sender
	}
	ctx, cancel := context.WithTimeout(ctx, submitTimeout)
	defer cancel()
	return l.send(ctx, job, message)
}

// sendmail is the parsed arguments of sendmail.
type sendmail struct {
	sender     string
	recipients []string
	fromHeader bool // -t: the recipients are in the message
}

func parseSendmail(args []string) (sendmail, error) {
	var s sendmail
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			s.recipients = append(s.recipients, args[i+1:]...)
			break
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			s.recipients = append(s.recipients, arg)
			continue
		}
		switch option := arg[:min(len(arg), 2)]; option {
		case "-t":
			s.fromHeader = true
		case "-f", "-r", "-F", "-B", "-N", "-R", "-V", "-X", "-h", "-O": // with a value
			value := arg[2:]
			if value == "" {
				if i++; i >= len(args) {
					return s, fmt.Errorf("%s needs a value", option)
				}
				value = args[i]
			}
			if option == "-f" || option == "-r" {
				s.sender = value
			}
		}
	}
	if s.sender != "" {
		a, err := netmail.ParseAddress(strings.Trim(s.sender, "<>"))
		if err != nil {
			return s, fmt.Errorf("%q is no address of a sender", s.sender)
		}
		s.sender = a.Address
	}
	return s, nil
}

// parser parses addresses whose names may be in any character set: only the addresses matter.
var parser = netmail.AddressParser{WordDecoder: &mime.WordDecoder{
	CharsetReader: func(string, io.Reader) (io.Reader, error) { return strings.NewReader("name"), nil },
}}

// prepare completes the recipients and returns the message to send: without Bcc.
func (s *sendmail) prepare(message []byte) ([]byte, error) {
	message = bytes.ReplaceAll(message, []byte("\r\n"), []byte("\n"))
	if s.fromHeader {
		header, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(message, '\n', '\n')))).ReadMIMEHeader()
		if err != nil {
			return nil, fmt.Errorf("the message's header: %w", err)
		}
		for _, field := range []string{"To", "Cc", "Bcc"} {
			for _, value := range header[field] {
				addresses, err := parser.ParseList(value)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", field, err)
				}
				for _, a := range addresses {
					s.recipients = append(s.recipients, a.Address)
				}
			}
		}
		message = withoutBcc(message)
	}
	if len(s.recipients) == 0 {
		return nil, errors.New("nobody is to get the message")
	}
	for i, r := range s.recipients {
		a, err := netmail.ParseAddress(strings.Trim(r, "<>"))
		if err != nil {
			return nil, fmt.Errorf("%q is no address", r)
		}
		s.recipients[i] = a.Address
	}
	return message, nil
}

func withoutBcc(message []byte) []byte {
	header, body, _ := bytes.Cut(message, []byte("\n\n"))
	var kept [][]byte
	dropping := false
	for line := range bytes.SplitSeq(header, []byte("\n")) {
		if !bytes.HasPrefix(line, []byte(" ")) && !bytes.HasPrefix(line, []byte("\t")) {
			name, _, _ := bytes.Cut(line, []byte(":"))
			dropping = strings.EqualFold(string(bytes.TrimSpace(name)), "Bcc")
		}
		if !dropping {
			kept = append(kept, line)
		}
	}
	return bytes.Join([][]byte{bytes.Join(kept, []byte("\n")), body}, []byte("\n\n"))
}

func (l login) send(ctx context.Context, s sendmail, message []byte) (err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.Address)
	if err != nil {
		return err
	}
	if until, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(until); err != nil {
			return errors.Join(err, conn.Close())
		}
	}
	client, err := smtp.NewClient(conn, "localhost") // PLAIN is for TLS or for this machine
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	defer func() { _ = client.Close() }() // the answer is known already
	if err := client.Auth(smtp.PlainAuth("", l.User, l.Password, "localhost")); err != nil {
		return refusal(err, exNoPerm)
	}
	if err := client.Mail(s.sender); err != nil {
		return refusal(err, exNoPerm)
	}
	for _, r := range s.recipients {
		if err := client.Rcpt(r); err != nil {
			return refusal(err, exNoUser)
		}
	}
	w, err := client.Data()
	if err != nil {
		return refusal(err, exNoPerm)
	}
	if _, err := w.Write(message); err != nil { // writes SMTP's line ends
		return err
	}
	if err := w.Close(); err != nil {
		return refusal(err, exNoPerm)
	}
	_ = client.Quit() // the message was accepted
	return nil
}

// refusal adds the exit code to a permanent refusal by the server.
func refusal(err error, code int) error {
	var answer *textproto.Error
	if errors.As(err, &answer) && answer.Code >= 500 {
		if strings.HasPrefix(answer.Msg, "5.7.") { // RFC 3463: it is not allowed
			code = exNoPerm
		}
		return exit{code, err}
	}
	return err
}
