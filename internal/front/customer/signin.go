package customer

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	stead "stead.dev/stead/sdk/go"
	"stead.dev/stead/sdk/go/oauth"
)

// Way is a way to sign in.
type Way func(ctx context.Context, config oauth.Config) (oauth.Token, error)

// ByBrowser signs in by a browser on this machine, which open opens.
func ByBrowser(open func(address string) error) Way {
	return func(ctx context.Context, config oauth.Config) (oauth.Token, error) { return config.Login(ctx, open) }
}

// ByDevice signs in by a browser on another device; show tells the customer the page and the code to enter there.
func ByDevice(show func(oauth.DeviceCode) error) Way {
	return func(ctx context.Context, config oauth.Config) (oauth.Token, error) {
		return config.LoginDevice(ctx, show)
	}
}

// ByToken signs in by a token that the customer has, and which is not renewed.
func ByToken(token string) Way {
	return func(context.Context, oauth.Config) (oauth.Token, error) { return oauth.Token{Access: token}, nil }
}

// Who says whose a sign-in is.
type Who struct {
	Server    string `json:"server"`
	AccountID int64  `json:"account_id"`
	Email     string `json:"email"`
	Name      string `json:"name"`
}

// Login signs in to a server and keeps the sign-in, in the place of a former one.
func Login(ctx context.Context, s Settings, way Way) (Who, error) {
	store, err := s.Store()
	if err != nil {
		return Who{}, err
	}
	all, err := store.read()
	if err != nil {
		return Who{}, err
	}
	server, err := s.server(all)
	if err != nil {
		return Who{}, err
	}
	config := s.config(server)
	token, err := way(ctx, config)
	if err != nil {
		return Who{}, err
	}
	session, err := s.session(server, stead.WithToken(token.Access))
	if err != nil {
		return Who{}, err
	}
	who, err := session.Who(ctx)
	if err != nil {
		return Who{}, err
	}
	var before oauth.Token
	err = store.update(ctx, func(all *signIns) error {
		before = all.Servers[server].Token
		all.Servers[server] = SignIn{AccountID: who.AccountID, Email: who.Email, Token: token}
		all.Current = server
		return nil
	})
	if err == nil && before.Refresh != "" {
		_ = config.Revoke(ctx, before) // it ends by itself, if the server cannot be told
	}
	return who, err
}

// server returns the address of the server that is meant, whether or not somebody has signed in there.
func (s Settings) server(all signIns) (string, error) {
	server := cmp.Or(s.Server, s.Environ("STEAD_SERVER"), all.Current)
	if server == "" {
		return "", &UsageError{"which server? Say --server https://my.example.com"}
	}
	return Address(server)
}

// PipelineToken makes a token for a pipeline, which nothing here keeps. It returns the server that it is for, too.
func PipelineToken(ctx context.Context, s Settings, way Way) (server string, token oauth.Token, err error) {
	config, err := s.pipeline()
	if err != nil {
		return "", token, err
	}
	token, err = way(ctx, config)
	return config.Server, token, err
}

// RevokePipelineToken ends such a token.
func RevokePipelineToken(ctx context.Context, s Settings, token string) (server string, err error) {
	config, err := s.pipeline()
	if err != nil {
		return "", err
	}
	return config.Server, config.Revoke(ctx, oauth.Token{Access: token})
}

func (s Settings) pipeline() (oauth.Config, error) {
	store, err := s.Store()
	if err != nil {
		return oauth.Config{}, err
	}
	all, err := store.read()
	if err != nil {
		return oauth.Config{}, err
	}
	server, err := s.server(all)
	if err != nil {
		return oauth.Config{}, err
	}
	config := s.config(server)
	config.ClientID, config.Scopes = pipelineClientID, pipelineScopes
	return config, nil
}

// Who asks the server whose the session is.
func (s *Session) Who(ctx context.Context) (Who, error) {
	me, err := s.Account.Get(ctx)
	if err != nil {
		return Who{}, err
	}
	return Who{Server: s.Server, AccountID: me.ID, Email: me.Email, Name: me.Name}, nil
}

// Logout revokes the tokens of a server and forgets them. With forget it does the latter alone, for a server that is gone. It
// returns the address of the server.
func Logout(ctx context.Context, s Settings, forget bool) (string, error) {
	store, err := s.Store()
	if err != nil {
		return "", err
	}
	server := s.Server
	if server == "" {
		server = s.Environ("STEAD_SERVER")
	}
	err = store.update(ctx, func(all *signIns) error {
		if server == "" {
			server = all.Current
		}
		if server == "" {
			return &SignInError{Reason: "you are not signed in"}
		}
		if server, err = Address(server); err != nil {
			return err
		}
		kept, ok := all.Servers[server]
		if !ok {
			return &SignInError{Server: server, Reason: "you are not signed in there"}
		}
		// A token that was given by hand is not ours to end: it may be used elsewhere.
		if kept.Token.Refresh != "" && !forget {
			err := s.config(server).Revoke(ctx, kept.Token)
			var refused *oauth.Error
			if err != nil && (!errors.As(err, &refused) || refused.Status >= 500) {
				return fmt.Errorf("the server could not be told to end the tokens: %w (--forget removes them from this machine alone)", err)
			}
		}
		delete(all.Servers, server)
		if all.Current == server {
			all.Current = ""
		}
		return nil
	})
	return server, err
}
