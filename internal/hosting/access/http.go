package access

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// ftpWire is an FTP account (resources, section 18). There is no password in it, nor in any request.
type ftpWire struct {
	ID          int64       `json:"id"`
	Username    string      `json:"username" doc:"As it signs in"`
	Home        string      `json:"home" doc:"The directory that it sees as its root; path in the service's home"`
	QuotaMB     *int64      `json:"quota_mb" doc:"Null: no quota of its own"`
	UsedMB      int64       `json:"used_mb" doc:"Counted when it signs in, and then as it writes"`
	Protocols   []string    `json:"protocols" doc:"ftps is FTP over TLS, explicit"`
	ReadOnly    bool        `json:"readonly"`
	Host        *string     `json:"host" doc:"Where it signs in; null until the hosting server has told"`
	Port        *int        `json:"port"`
	Status      site.Status `json:"status" enum:"pending,active,failed,removing" doc:"How far the hosting server has followed"`
	FailureKey  *string     `json:"failure_key" doc:"Why it failed: an error key"`
	LastLoginAt *time.Time  `json:"last_login_at"`
	CreatedAt   time.Time   `json:"created_at"`
}

func wireFTP(f ftpAccount) ftpWire {
	w := ftpWire{
		ID: f.ID, Username: f.username, Home: f.home, UsedMB: f.usedMB, Protocols: []string{"ftps"}, ReadOnly: f.readOnly, Status: f.Status,
		FailureKey: f.FailureKey, LastLoginAt: f.lastLoginAt, CreatedAt: f.createdAt, Host: nilIfZero(f.host), Port: nilIfZero(f.port),
	}
	if f.quotaMB > 0 {
		w.QuotaMB = &f.quotaMB
	}
	return w
}

// nilIfZero returns a pointer to v, or nil for the zero value, which stands for what is not known yet.
func nilIfZero[T comparable](v T) *T {
	var unknown T
	if v == unknown {
		return nil
	}
	return &v
}

// shellWire is the shell of a service (resources, section 22).
type shellWire struct {
	Enabled        bool        `json:"enabled"`
	Shell          string      `json:"shell" enum:"none,bash" doc:"none: the keys of the service open SFTP only"`
	Host           *string     `json:"host" doc:"Null until the hosting server has told"`
	Port           *int        `json:"port"`
	Username       *string     `json:"username"`
	Fingerprint    *string     `json:"fingerprint" doc:"Of the server's key: compare it when your client asks"`
	WebTerminalURL *string     `json:"web_terminal_url" doc:"A terminal in the browser; null without a shell, and where the hosting server has no terminals"`
	Status         site.Status `json:"status" enum:"pending,active,failed" doc:"How far the hosting server has followed"`
	FailureKey     *string     `json:"failure_key"`
}

func (s *Service) wireShell(sh shell) *shellWire {
	w := &shellWire{
		Enabled: sh.enabled, Shell: "none", Host: nilIfZero(sh.host), Port: nilIfZero(sh.port), Username: nilIfZero(sh.username),
		Fingerprint: nilIfZero(sh.fingerprint), Status: sh.Status, FailureKey: sh.FailureKey,
	}
	if sh.enabled {
		w.Shell = "bash"
		if sh.terminal {
			url := s.terminalURL(sh.ServiceID)
			w.WebTerminalURL = &url
		}
	}
	return w
}

// keyWire is an SSH key (resources, section 22).
type keyWire struct {
	ID                int64      `json:"id"`
	Name              string     `json:"name"`
	Type              string     `json:"type"`
	FingerprintSHA256 string     `json:"fingerprint_sha256"`
	PublicKey         string     `json:"public_key"`
	CreatedAt         time.Time  `json:"created_at"`
	LastUsedAt        *time.Time `json:"last_used_at" doc:"Brought up to date once in an hour"`
}

func wireKey(k sshKey) keyWire {
	return keyWire{
		ID: k.ID, Name: k.name, Type: k.kind, FingerprintSHA256: k.fingerprint, PublicKey: k.publicKey, CreatedAt: k.createdAt, LastUsedAt: k.lastUsedAt,
	}
}

type createFTPIn struct {
	site.ServiceIn
	Body struct {
		Username string `json:"username" minLength:"1" maxLength:"64" doc:"Letters, digits, - and _; the user name begins with the service's" example:"anna"`
		Home     string `json:"home,omitempty" maxLength:"4096" doc:"Path in the service's home; /public_html when it is left out. It is made when it is missing" example:"/public_html/shop"`
		QuotaMB  *int64 `json:"quota_mb,omitempty" minimum:"1" maximum:"1099511627776" doc:"Of files in home; none when it is left out"`
		ReadOnly bool   `json:"readonly,omitempty"`
	}
}

type ftpIn struct {
	site.ServiceIn
	FTPAccount int64 `path:"ftp_account" minimum:"1" doc:"Id of the FTP account"`
}

type shellIn struct {
	site.ServiceIn
	Body struct {
		Enabled bool `json:"enabled"`
	}
}

type createKeyIn struct {
	site.ServiceIn
	Body struct {
		Name      string `json:"name,omitempty" maxLength:"100" doc:"The key's comment when it is left out" example:"laptop"`
		PublicKey string `json:"public_key" minLength:"1" maxLength:"16384" doc:"As it stands in a .pub file" example:"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGEga2V5IG9mIG5vYm9keSwgdGhpcnR5LXR3byBieXRl anna@laptop"`
	}
}

type keyIn struct {
	site.ServiceIn
	SSHKey int64 `path:"ssh_key" minimum:"1" doc:"Id of the key"`
}

const base = "/api/v1/services/{service}"

// Operations are this section's part of the specification's section "Service management".
func (s *Service) Operations() []api.Route {
	return []api.Route{
		site.Read(api.Operation[site.ListIn, page.List[ftpWire]]{
			ID: "access.ftp.list", Path: base + "/ftp", Summary: "List the FTP accounts of a service",
			Description: "Each FTP account with its directory, quota in MB and whether it only reads. Passwords are shown once, when an " +
				"account is made.",
			Handle: site.HandleList(s.listFTP, wireFTP),
		}),
		site.Create(api.Operation[createFTPIn, ftpWire]{
			ID: "access.ftp.create", OwnerOnly: true, Path: base + "/ftp", Summary: "Add an FTP account to a service",
			Example: `{"username": "deploy", "home": "/public_html", "quota_mb": 500}`,
			Description: "The password is made by the server and shown to the owner once, in the browser. The answer is `pending`; " +
				"the hosting server follows within seconds.",
			Errors: []*fault.Def{fault.LimitReached, fault.AlreadyExists, fault.PathNotAllowed}, Handle: s.createFTPOperation,
		}),
		site.Delete(api.Operation[ftpIn, api.Empty]{
			ID: "access.ftp.delete", Path: base + "/ftp/{ftp_account}", Summary: "Remove an FTP account from a service",
			Description: "Its sessions end; files stay. It is `removing` until the hosting server has followed.",
		}, func(in *ftpIn) int64 { return in.FTPAccount }, s.ftp().Remove),
		site.Read(api.Operation[site.ServiceIn, shellWire]{
			ID: "access.shell.get", Path: base + "/shell", Summary: "See where a service is reached by SSH and SFTP",
			Description: "Host, port and user for programs that bring a key of the service, the server's fingerprint to compare, and " +
				"whether the keys open a shell. Host and port are null before the first key is added or the shell is switched on.",
			Handle: func(ctx context.Context, p auth.Principal, in *site.ServiceIn) (*shellWire, error) {
				sh, err := s.getShell(ctx, p.AccountID, in.Service)
				if err != nil {
					return nil, err
				}
				return s.wireShell(sh), nil
			},
		}),
		site.Write(http.MethodPut, api.Operation[shellIn, shellWire]{
			ID: "access.shell.set", OwnerOnly: true, Path: base + "/shell", Summary: "Switch the shell of a service on or off",
			Example:     `{"enabled": true}`,
			Description: "Without a shell the keys of the service open SFTP only. Switching it off ends the sessions that are open.",
			Errors:      []*fault.Def{fault.FeatureNotInPlan},
			Handle: func(ctx context.Context, p auth.Principal, in *shellIn) (*shellWire, error) {
				sh, err := s.setShell(ctx, p.AccountID, in.Service, in.Body.Enabled)
				if err != nil {
					return nil, err
				}
				return s.wireShell(sh), nil
			},
		}),
		site.Read(api.Operation[site.ListIn, page.List[keyWire]]{
			ID: "access.ssh_keys.list", Path: base + "/ssh-keys", Summary: "List the keys that open a service by SSH and SFTP",
			Description: "Public keys with their fingerprints and when they were added. They open SFTP, and SSH while the shell is switched on.",
			Handle:      site.HandleList(s.listKeys, wireKey),
		}),
		site.Create(api.Operation[createKeyIn, keyWire]{
			ID: "access.ssh_keys.create", OwnerOnly: true, Path: base + "/ssh-keys", Summary: "Add a key that opens a service by SSH and SFTP",
			Example: `{"name": "Laptop", "public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl anna@laptop"}`,
			Description: "Ed25519, ECDSA, their variants on security keys, and RSA of 2048 bits or more. `ssh_key_invalid` carries `reason`: " +
				"`malformed`, `private_key`, `several_lines`, `options`, `type`, `too_short`.",
			Errors: []*fault.Def{ErrKeyInvalid, fault.AlreadyExists, fault.LimitReached},
			Handle: func(ctx context.Context, p auth.Principal, in *createKeyIn) (*keyWire, error) {
				k, err := s.createKey(ctx, p.AccountID, in.Service, in.Body.Name, in.Body.PublicKey)
				return site.Reply(wireKey, k, err)
			},
		}),
		site.Delete(api.Operation[keyIn, api.Empty]{
			ID: "access.ssh_keys.delete", Path: base + "/ssh-keys/{ssh_key}", Summary: "Remove a key from a service",
			Description: "It opens nothing new from then on; sessions that are open go on.",
		}, func(in *keyIn) int64 { return in.SSHKey }, s.removeKey),
	}
}

func (s *Service) createFTPOperation(ctx context.Context, p auth.Principal, in *createFTPIn) (*ftpWire, error) {
	b := in.Body
	w := ftpWish{username: b.Username, home: b.Home, readOnly: b.ReadOnly}
	if b.QuotaMB != nil {
		w.quotaMB = *b.QuotaMB
	}
	f, err := s.createFTP(ctx, p.AccountID, in.Service, w)
	return site.Reply(wireFTP, f, err)
}
