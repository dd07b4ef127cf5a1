package reviews

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// ReadAll asks each query of the section once.
func ReadAll(ctx context.Context, q db.Querier) error {
	_, err := list(ctx, q, Approved, page.Params{Page: 1, PerPage: 20})
	errs := []error{err}
	_, err = count(ctx, q, Pending)
	errs = append(errs, err)
	_, err = rate(ctx, q, false)
	errs = append(errs, err)
	if _, err = ofAccount(ctx, q, 1); !errors.Is(err, fault.NotFound) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
