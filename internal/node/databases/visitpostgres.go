package databases

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// visit signs a program in as the role whose name it says, in the database of that name. The server knows the agent by its
// socket.
func (p *postgres) visit(ctx context.Context, program net.Conn, visits Visits) (_ net.Conn, ended <-chan struct{}, err error) {
	client := pgproto3.NewBackend(program, program)
	name, settings, err := startup(client, program)
	if err != nil {
		return nil, nil, err
	}
	client.Send(&pgproto3.AuthenticationCleartextPassword{})
	if err := client.Flush(); err != nil {
		return nil, nil, err
	}
	if err := client.SetAuthType(pgproto3.AuthTypeCleartextPassword); err != nil {
		return nil, nil, err
	}
	message, err := client.Receive()
	if err != nil {
		return nil, nil, err
	}
	said, ok := message.(*pgproto3.PasswordMessage)
	if ok {
		ended, ok = visits.Visiting(name, func(secret string) bool {
			return subtle.ConstantTimeCompare([]byte(secret), []byte(said.Password)) == 1
		})
	}
	if !ok {
		return nil, nil, errors.Join(errVisit, refuse(client, "28P01", "password authentication failed"))
	}
	config, err := pgconn.ParseConfig(p.address(name, name))
	if err != nil {
		return nil, nil, err
	}
	config.RuntimeParams = settings
	own, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		var told *pgconn.PgError
		if errors.As(err, &told) {
			return nil, nil, errors.Join(p.failure(err), refuse(client, told.Code, told.Message))
		}
		return nil, nil, errors.Join(p.failure(err), refuse(client, "08006", "the server does not answer"))
	}
	server, err := own.Hijack()
	if err != nil {
		return nil, nil, errors.Join(err, own.Close(ctx))
	}
	client.Send(&pgproto3.AuthenticationOk{})
	for key, value := range server.ParameterStatuses {
		client.Send(&pgproto3.ParameterStatus{Name: key, Value: value})
	}
	client.Send(&pgproto3.ReadyForQuery{TxStatus: server.TxStatus})
	if err := client.Flush(); err != nil {
		return nil, nil, errors.Join(err, server.Conn.Close())
	}
	return server.Conn, ended, nil
}

// startup reads who the program says to be. It refuses all of the first messages but the one that begins a session.
func startup(client *pgproto3.Backend, program net.Conn) (name string, settings map[string]string, err error) {
	for range 3 { // encryption is asked for first, in two ways
		message, err := client.ReceiveStartupMessage()
		if err != nil {
			return "", nil, err
		}
		switch m := message.(type) {
		case *pgproto3.SSLRequest, *pgproto3.GSSEncRequest:
			if _, err := program.Write([]byte("N")); err != nil {
				return "", nil, err
			}
		case *pgproto3.StartupMessage:
			name = m.Parameters["user"]
			if !safe(name) || m.Parameters["database"] != name {
				return "", nil, errors.Join(errVisit, refuse(client, "28000", "no such database"))
			}
			settings = map[string]string{}
			for _, key := range []string{"application_name", "client_encoding"} {
				if value := m.Parameters[key]; value != "" {
					settings[key] = value
				}
			}
			return name, settings, nil
		default:
			return "", nil, fmt.Errorf("databases: %T begins no session", message)
		}
	}
	return "", nil, errors.New("databases: no session was begun")
}

func refuse(client *pgproto3.Backend, code, message string) error {
	client.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: message})
	return client.Flush()
}
