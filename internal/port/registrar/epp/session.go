package epp

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// largest is the maximum size of an answer.
const largest = 4 << 20

// session is a connection that is logged in. It has one command in flight at a time (RFC 5734, section 3).
type session struct {
	conn   net.Conn
	in     *bufio.Reader
	offers map[string]bool // namespaces of the objects and extensions that were agreed on
	used   time.Time
}

// open connects and logs in.
func (c *Client) open(ctx context.Context) (*session, error) {
	ctx, stop := context.WithTimeout(ctx, c.Timeout)
	defer stop()
	dialer := tls.Dialer{Config: c.TLS}
	conn, err := dialer.DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return nil, fmt.Errorf("epp: %w", err)
	}
	s := &session{conn: conn, in: bufio.NewReader(conn)}
	if err := c.login(ctx, s); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("epp: login: %w", err)
	}
	return s, nil
}

// login reads the greeting, and selects the services that both sides support.
func (c *Client) login(ctx context.Context, s *session) error {
	first, err := s.receive(ctx)
	if err != nil {
		return err
	}
	if first.Greeting == nil {
		return errors.New("no greeting")
	}
	menu := first.Greeting.Menu
	if !slices.Contains(menu.Versions, "1.0") {
		return fmt.Errorf("the registry speaks %v and not 1.0", menu.Versions)
	}
	objects := []string{nsDomain, nsContact, nsHost}
	for _, object := range objects {
		if !slices.Contains(menu.Objects, object) {
			return fmt.Errorf("the registry does not have %s", object)
		}
	}
	language := "en"
	if !slices.Contains(menu.Languages, language) && len(menu.Languages) > 0 {
		language = menu.Languages[0]
	}
	in := login{User: c.User, Password: c.Password, Version: "1.0", Language: language, Objects: objects}
	s.offers = map[string]bool{}
	for _, extension := range []string{nsSecDNS, nsRGP} {
		if slices.Contains(menu.Extensions, extension) {
			s.offers[extension] = true
			if in.Extensions == nil {
				in.Extensions = &extensions{}
			}
			in.Extensions.URIs = append(in.Extensions.URIs, extension)
		}
	}
	id := transaction("")
	answer, err := s.exchange(ctx, frame{Command: &command{Login: &in, ClientID: id}})
	if err != nil {
		return err
	}
	if answer.Response == nil || answer.Response.ClientID != id {
		return errors.New("the answer is that of another command")
	}
	result := answer.Response.Result[0]
	c.mu.Lock()
	c.refused = time.Time{}
	if result.Code == 2200 || result.Code == 2501 {
		c.refused = c.Clock.Now()
	}
	c.mu.Unlock()
	if result.Code >= 2000 {
		c.Log.ErrorContext(ctx, "epp: the registry refuses the login", "code", result.Code, "message", result.Message)
		return fmt.Errorf("refused with code %d: %s", result.Code, result.Message)
	}
	return nil
}

// timed is exchange with a time limit.
func (s *session) timed(ctx context.Context, limit time.Duration, f frame) (frame, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	return s.exchange(ctx, f)
}

// exchange sends a frame and reads the next. After an error the session is unusable.
func (s *session) exchange(ctx context.Context, f frame) (answer frame, err error) {
	content, err := xml.Marshal(f)
	if err != nil {
		return frame{}, err
	}
	// The length counts itself (RFC 5734, section 4).
	packet := binary.BigEndian.AppendUint32(nil, uint32(len(xml.Header)+len(content)+4)) //nolint:gosec // far below the limit
	packet = append(append(packet, xml.Header...), content...)
	err = s.within(ctx, func() error {
		_, err := s.conn.Write(packet)
		return err
	})
	if err != nil {
		return frame{}, err
	}
	return s.receive(ctx)
}

// within interrupts f's use of the connection when ctx ends.
func (s *session) within(ctx context.Context, f func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !stop() {
		return fmt.Errorf("epp: %w", context.Cause(ctx)) // the deadline is set: the connection is lost
	}
	return err
}

// receive reads a frame.
func (s *session) receive(ctx context.Context) (answer frame, err error) {
	err = s.within(ctx, func() error {
		var head [4]byte
		if _, err := io.ReadFull(s.in, head[:]); err != nil {
			return err
		}
		length := binary.BigEndian.Uint32(head[:])
		if length <= 4 || length > largest {
			return fmt.Errorf("a frame of %d octets", length)
		}
		content := make([]byte, length-4)
		if _, err := io.ReadFull(s.in, content); err != nil {
			return err
		}
		if err := xml.Unmarshal(content, &answer); err != nil {
			return fmt.Errorf("a frame that is no EPP: %w", err)
		}
		if answer.Response != nil && len(answer.Response.Result) == 0 {
			return errors.New("an answer without a result")
		}
		return nil
	})
	return answer, err
}
