package reseller

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// BrandPath is where the files of resellers' brands are served.
const BrandPath = "/client/brand/"

// Brand is what a reseller's clients see on the pages of their services in place of ours.
type Brand struct {
	brand.Settings
	// Pictures are without their content.
	Pictures map[string]brand.Picture
}

func (b Brand) etag() string {
	hashes := map[string]string{}
	for kind, p := range b.Pictures {
		hashes[kind] = p.Hash
	}
	return b.ETag(hashes)
}

// address is where a picture is served, or nil.
func (b Brand) address(kind string) *string {
	p, ok := b.Pictures[kind]
	if !ok {
		return nil
	}
	at := BrandPath + p.File(kind)
	return &at
}

// shown is the brand as pages show it. What the reseller has left empty is empty there, too: never ours.
func (b Brand) shown() brand.Brand {
	v := b.Over(brand.Brand{})
	if logo := b.address(brand.LogoKind); logo != nil {
		v.Logo = *logo
	}
	switch icon := b.address(brand.IconKind); {
	case icon != nil:
		v.Icon = *icon
	case v.Name != "":
		v.Icon = brand.Initial(v).DataURL()
	}
	if v.Color != "" {
		v.Style = BrandPath + "style-" + v.Color[1:] + ".css"
	}
	return v
}

func (s *Service) brandOf(ctx context.Context, q db.Querier, accountID int64) (b Brand, err error) {
	err = q.QueryRow(ctx, `SELECT brand_name, brand_color, brand_support, brand_terms, brand_privacy, brand_imprint FROM reseller_settings WHERE account_id = $1`,
		accountID).Scan(&b.Name, &b.Color, &b.Support, &b.Terms, &b.Privacy, &b.Imprint)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		return b, err
	}
	b.Pictures = map[string]brand.Picture{}
	_, err = db.Collect(ctx, q, func(row db.Row) (kind string, err error) {
		var p brand.Picture
		err = row.Scan(&kind, &p.Type, &p.Hash)
		b.Pictures[kind] = p
		return kind, err
	}, `SELECT kind, content_type, hash FROM reseller_pictures WHERE account_id = $1`, accountID)
	return b, err
}

func putBrand(ctx context.Context, tx *db.Tx, accountID int64, b brand.Settings) error {
	_, err := tx.Exec(ctx, `INSERT INTO reseller_settings (account_id, auto_renew, brand_name, brand_color, brand_support, brand_terms, brand_privacy, brand_imprint)
		VALUES ($1, TRUE, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (account_id) DO UPDATE SET brand_name = excluded.brand_name, brand_color = excluded.brand_color, brand_support = excluded.brand_support,
			brand_terms = excluded.brand_terms, brand_privacy = excluded.brand_privacy, brand_imprint = excluded.brand_imprint`,
		accountID, b.Name, b.Color, b.Support, b.Terms, b.Privacy, b.Imprint)
	return err
}

// putPicture replaces a picture; one without content is taken away.
func putPicture(ctx context.Context, tx *db.Tx, accountID int64, kind string, p brand.Picture) error {
	if len(p.Content) == 0 {
		_, err := tx.Exec(ctx, `DELETE FROM reseller_pictures WHERE account_id = $1 AND kind = $2`, accountID, kind)
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO reseller_pictures (account_id, kind, content_type, hash, content, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (account_id, kind) DO UPDATE SET content_type = excluded.content_type, hash = excluded.hash, content = excluded.content,
			updated_at = excluded.updated_at`, accountID, kind, p.Type, p.Hash, p.Content, tx.Now)
	return err
}

// picture finds a picture by the hash of its content.
func picture(ctx context.Context, q db.Querier, kind, hash string) (brand.Picture, error) {
	return scanPicture(q.QueryRow(ctx, `SELECT content_type, hash, content FROM reseller_pictures WHERE hash = $1 AND kind = $2 LIMIT 1`, hash, kind))
}

func pictureOf(ctx context.Context, q db.Querier, accountID int64, kind string) (brand.Picture, error) {
	return scanPicture(q.QueryRow(ctx, `SELECT content_type, hash, content FROM reseller_pictures WHERE account_id = $1 AND kind = $2`, accountID, kind))
}

func scanPicture(row db.Row) (p brand.Picture, err error) {
	err = row.Scan(&p.Type, &p.Hash, &p.Content)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return p, err
}

// eraseBrand removes the brands of an account that is closed, and of its sandbox.
func (s *Service) eraseBrand(ctx context.Context, tx *db.Tx, accountID int64) error {
	r, err := of(ctx, tx, accountID)
	if errors.Is(err, ErrNoReseller) {
		return nil
	}
	for _, id := range []int64{r.AccountID, r.SandboxID} {
		for _, kind := range []string{brand.LogoKind, brand.IconKind} {
			if err == nil {
				err = putPicture(ctx, tx, id, kind, brand.Picture{})
			}
		}
		if err == nil {
			err = putBrand(ctx, tx, id, brand.Settings{})
		}
	}
	return err
}

// changeBrand replaces the brand of an account's clients, and the pictures that are given, all in one.
func (s *Service) changeBrand(ctx context.Context, accountID int64, in brandIn) (b Brand, err error) {
	set, err := in.settings().Checked()
	if err != nil {
		return b, err
	}
	if brand.SpeaksFor(set.Name, s.Company().Name) {
		return b, fault.Invalid("name", "brand_name_taken")
	}
	pictures, err := in.Checked()
	if err != nil {
		return b, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		r, err := of(ctx, tx, accountID)
		if err != nil {
			return err
		}
		if _, err := lockReseller(ctx, tx, r.AccountID); err != nil { // changes of one reseller wait for each other
			return err
		}
		if in.ETag != "" {
			present, err := s.brandOf(ctx, tx, accountID)
			if err != nil {
				return err
			}
			if present.etag() != in.ETag {
				return fault.ETagMismatch.New()
			}
		}
		for kind, p := range pictures {
			if err := putPicture(ctx, tx, accountID, kind, p); err != nil {
				return err
			}
		}
		if err := putBrand(ctx, tx, accountID, set); err != nil {
			return err
		}
		b, err = s.brandOf(ctx, tx, accountID)
		return err
	})
	return b, err
}
