package company

import (
	"context"
	"log/slog"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/db"
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
	settings Settings
	brand    brand.Brand
	uploaded []string // kinds of the pictures that staff have uploaded
	images   map[string]image
	letters  map[letterKey]mailer.Text
	style    image
}

// New makes the section. It shows the configuration's brand until Load has read the settings.
func New(c Config) *Service {
	s := &Service{Config: c}
	s.present = signal.NewCopy(newPresent(c.Configured, Settings{}, nil), s.read)
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

func newPresent(configured brand.Brand, set Settings, images []namedImage) *present {
	p := &present{settings: set, brand: set.over(configured), uploaded: []string{}, images: map[string]image{}}
	for _, i := range images {
		p.images[i.kind] = i.image
		p.uploaded = append(p.uploaded, i.kind)
	}
	if logo, ok := p.images[Logo]; ok {
		p.brand.Logo, p.brand.MailLogo = logo.address(Logo), logo.Type == pngType
	}
	if _, ok := p.images[Icon]; !ok {
		p.images[Icon] = initial(p.brand)
	}
	p.brand.Icon = p.images[Icon].address(Icon)
	if p.brand.Color != "" {
		p.style = newImage("text/css; charset=utf-8", []byte(p.brand.StyleSheet()))
		p.brand.Style = Path + "style-" + p.style.Hash + ".css"
	}
	return p
}

// Current is the present brand.
func (s *Service) Current() brand.Brand { return s.present.Get().brand }

// Shown is what staff have set, and what is shown because of it.
type Shown struct {
	Settings Settings
	// Uploaded are the kinds of the pictures that staff have uploaded.
	Uploaded []string
	Brand    brand.Brand
}

// Get reads the settings.
func (s *Service) Get() Shown {
	p := s.present.Get()
	return Shown{p.settings, p.uploaded, p.brand}
}

// Change replaces the settings.
func (s *Service) Change(ctx context.Context, set Settings, reason string) (Shown, error) {
	set, err := set.checked()
	if err != nil {
		return Shown{}, err
	}
	return s.change(ctx, "company.change", reason, func(ctx context.Context, tx *db.Tx) error { return saveSettings(ctx, tx, set) })
}

// SetImage replaces a picture.
func (s *Service) SetImage(ctx context.Context, kind string, content []byte, reason string) (Shown, error) {
	i, err := checkImage(kind, content)
	if err != nil {
		return Shown{}, err
	}
	return s.change(ctx, "company.set_image", reason, func(ctx context.Context, tx *db.Tx) error { return saveImage(ctx, tx, kind, i) })
}

// RemoveImage removes a picture: the name stands for the logo, and its first letter for the icon.
func (s *Service) RemoveImage(ctx context.Context, kind string) (Shown, error) {
	return s.change(ctx, "company.remove_image", "", func(ctx context.Context, tx *db.Tx) error { return deleteImage(ctx, tx, kind) })
}

func (s *Service) change(ctx context.Context, action, reason string, f func(ctx context.Context, tx *db.Tx) error) (Shown, error) {
	err := s.record(ctx, action, reason, "settings", state, f)
	return s.Get(), err
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
		Settings
		Images map[string]pictured `json:"images"`
	}{set, images}, err
}
