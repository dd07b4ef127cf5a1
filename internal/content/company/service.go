package company

import (
	"context"
	"log/slog"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/port/mailer"
)

const topic = "company"

// Signals carries news to all replicas.
type Signals interface {
	Send(ctx context.Context, tx *db.Tx, topic, payload string) error
	Subscribe(topic string, f func(payload string))
}

// Recorder returns contexts in which what staff change is recorded in the audit log.
type Recorder interface {
	RecordCompany(ctx context.Context, action, reason, key string, state func(ctx context.Context, q db.Querier) (any, error)) context.Context
}

// Config is what the section works with; all is needed.
type Config struct {
	DB      *db.DB
	Signals Signals
	Log     *slog.Logger
	// Configured is the brand of the configuration; its name is not empty.
	Configured brand.Brand
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Audit Recorder
	// Kinds are all kinds of mails, and Letters writes them.
	Kinds   []mailer.Kind
	Letters *mailer.Writer
	Mailer  mailer.Mailer
	Staff   Addresses
}

// Addresses knows where members of staff get mails.
type Addresses interface {
	Address(ctx context.Context, accountID int64) (string, error)
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
	present *signal.Copy[*present]
}

// present is what the database has, ready to be shown.
type present struct {
	settings brand.Settings
	brand    brand.Brand
	uploaded []string // kinds of the pictures that staff have uploaded
	images   map[string]brand.Picture
	letters  map[letterKey]mailer.Text
	style    brand.Picture
}

// New makes the section. It shows the configuration's brand until Load has read the settings.
func New(c Config) *Service {
	s := &Service{Config: c}
	s.present = signal.NewCopy(newPresent(c.Configured, brand.Settings{}, nil), s.read)
	return s
}

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Load reads the settings and follows their changes.
func (s *Service) Load(ctx context.Context) error {
	return s.present.Follow(ctx, s.Signals, topic, s.Log)
}

func (s *Service) read(ctx context.Context) (*present, error) {
	set, err := readSettings(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	images, err := readImages(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	p := newPresent(s.Configured, set, images)
	p.letters, err = readLetters(ctx, s.DB)
	return p, err
}

func newPresent(configured brand.Brand, set brand.Settings, images []namedImage) *present {
	p := &present{settings: set, brand: set.Over(configured), uploaded: []string{}, images: map[string]brand.Picture{}}
	for _, i := range images {
		p.images[i.kind] = i.Picture
		p.uploaded = append(p.uploaded, i.kind)
	}
	if logo, ok := p.images[brand.LogoKind]; ok {
		p.brand.Logo, p.brand.MailLogo = Path+logo.File(brand.LogoKind), logo.Type == brand.PNG
	}
	if _, ok := p.images[brand.IconKind]; !ok {
		p.images[brand.IconKind] = brand.Initial(p.brand)
	}
	p.brand.Icon = Path + p.images[brand.IconKind].File(brand.IconKind)
	if p.brand.Color != "" {
		p.style = brand.NewPicture("text/css; charset=utf-8", []byte(p.brand.StyleSheet()))
		p.brand.Style = Path + "style-" + p.style.Hash + ".css"
	}
	return p
}

// Current is the present brand.
func (s *Service) Current() brand.Brand { return s.present.Get().brand }

// Shown is what staff have set, and what is shown because of it.
type Shown struct {
	Settings brand.Settings
	// Uploaded are the kinds of the pictures that staff have uploaded.
	Uploaded []string
	Brand    brand.Brand
	// ETag is the version of what staff have set.
	ETag string
}

// Get reads the settings.
func (s *Service) Get() Shown {
	p := s.present.Get()
	return Shown{p.settings, p.uploaded, p.brand, p.etag()}
}

func (p *present) etag() string {
	hashes := map[string]string{}
	for _, kind := range p.uploaded {
		hashes[kind] = p.images[kind].Hash
	}
	return p.settings.ETag(hashes)
}

// Change is what staff set anew.
type Change struct {
	Settings brand.Settings
	Pictures brand.PicturesIn
	// ETag, when not empty, is the version that is changed.
	ETag string
}

// Change replaces the settings, and the pictures that are given, all in one.
func (s *Service) Change(ctx context.Context, c Change, reason string) (Shown, error) {
	set, err := c.Settings.Checked()
	if err != nil {
		return Shown{}, err
	}
	pictures, err := c.Pictures.Checked()
	if err != nil {
		return Shown{}, err
	}
	err = s.record(ctx, "company.change", reason, "settings", state, func(ctx context.Context, tx *db.Tx) error {
		if err := judge(ctx, tx, c.ETag); err != nil {
			return err
		}
		for kind, p := range pictures {
			if err := saveImage(ctx, tx, kind, p); err != nil {
				return err
			}
		}
		return saveSettings(ctx, tx, set)
	})
	if err != nil {
		return Shown{}, err
	}
	return s.Get(), nil
}

// judge refuses a change of a version that is no longer there.
func judge(ctx context.Context, tx *db.Tx, etag string) error {
	if etag == "" {
		return nil
	}
	if err := lockSettings(ctx, tx); err != nil {
		return err
	}
	set, err := readSettings(ctx, tx)
	if err != nil {
		return err
	}
	images, err := imageStates(ctx, tx)
	if err != nil {
		return err
	}
	hashes := map[string]string{}
	for kind, i := range images {
		hashes[kind] = i.Hash
	}
	if set.ETag(hashes) != etag {
		return fault.ETagMismatch.New()
	}
	return nil
}

// record makes a change that is recorded, and tells all replicas.
func (s *Service) record(
	ctx context.Context, action, reason, key string, state func(ctx context.Context, q db.Querier) (any, error), f func(ctx context.Context, tx *db.Tx) error,
) error {
	recorded := s.Audit.RecordCompany(ctx, action, reason, key, state)
	err := s.DB.InTx(recorded, func(ctx context.Context, tx *db.Tx) error {
		if err := f(ctx, tx); err != nil {
			return err
		}
		return s.Signals.Send(ctx, tx, topic, "")
	})
	if err == nil {
		err = s.present.Read(ctx) // this process shows it at once
	}
	return err
}

// state is what the audit log keeps of the settings: of pictures their hashes.
func state(ctx context.Context, q db.Querier) (any, error) {
	set, err := readSettings(ctx, q)
	if err != nil {
		return nil, err
	}
	images, err := imageStates(ctx, q)
	return struct {
		brand.Settings

		Images map[string]pictured `json:"images"`
	}{set, images}, err
}
