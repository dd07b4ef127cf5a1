package invoices

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
)

const (
	// sequencerInterval is how often a replica looks for documents without a number, also when no transaction of its
	// own has made any: another replica may have died before it numbered its documents.
	sequencerInterval = 500 * time.Millisecond
	// sequencerBatch is how many documents one transaction numbers at most.
	sequencerBatch = 500
	// sequencerLock is the name of the lock under which one replica numbers at a time.
	sequencerLock = "invoices.sequencer"
)

// Run numbers documents until ctx ends: as soon as a transaction of this process has made one, and twice a second
// those of other replicas.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(sequencerInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-tick.C:
		}
		if err := s.Number(ctx); err != nil && ctx.Err() == nil {
			s.Log.ErrorContext(ctx, "invoices are not numbered", "error", err)
		}
	}
}

// wakeSequencer has the sequencer of this process look at once.
func (s *Service) wakeSequencer() {
	select {
	case s.wake <- struct{}{}:
	default: // it is told already
	}
}

// Number gives every committed document its number, and emits invoice.issued of it. It may run at any time and on
// several replicas; while another one numbers, it does nothing.
//
// Numbers are given after the commit of the payment, in transactions of their own, so that no payment waits for the
// counter of the series, which all payments would share. A number and its event are one commit with the counter: a
// process that is killed at any moment leaves no gap, and the next run goes on.
func (s *Service) Number(ctx context.Context) error {
	for {
		waiting, err := anyUnnumbered(ctx, s.DB)
		if err != nil || !waiting {
			return err
		}
		err = s.DB.InTxLocked(ctx, sequencerLock, func(ctx context.Context, tx *db.Tx) error {
			all, err := unnumbered(ctx, tx, sequencerBatch)
			if err != nil || len(all) == 0 { // another replica was faster
				return err
			}
			return s.number(ctx, tx, all)
		})
		if errors.Is(err, db.ErrLocked) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("invoices: number: %w", err)
		}
	}
}

// series is what numbers count in.
type series struct {
	seller string
	kind   Kind
	year   int
}

// number gives documents their numbers, in the order of their ids, and tells of them.
func (s *Service) number(ctx context.Context, tx *db.Tx, all []record) error {
	counts := map[series]int{}
	for _, r := range all {
		counts[r.series()]++
	}
	next := map[series]int64{}
	for of, n := range counts {
		first, err := takeNumbers(ctx, tx, of, n)
		if err != nil {
			return err
		}
		next[of] = first
	}
	given := map[int64]string{} // the numbers of this batch, by the ids of their documents
	for i := range all {
		r := &all[i]
		r.sequence = next[r.series()]
		next[r.series()]++
		given[r.id] = r.number()
	}
	if err := setNumbers(ctx, tx, all); err != nil {
		return err
	}
	if err := s.mention(ctx, tx, all); err != nil {
		return err
	}
	for _, r := range all {
		if r.kind == CreditNote && r.document.Corrects == "" {
			if err := s.nameCorrected(ctx, tx, &r, given); err != nil {
				return err
			}
		}
		leave := tx.Enter(r.accountID, r.issuedAt) // a sandbox may have a time of its own
		err := s.Events.Emit(ctx, tx, outbox.Event{
			Type: "invoice.issued", AccountID: r.accountID, Subject: "invoice", SubjectID: r.id, Data: s.eventOf(ctx, r),
		})
		leave()
		if err != nil {
			return err
		}
	}
	return nil
}

// mention adds lines to the first invoice of each account for what is to be mentioned.
func (s *Service) mention(ctx context.Context, tx *db.Tx, all []record) error {
	first := map[int64]*record{}
	for i := range all {
		if r := &all[i]; r.kind == Invoice && first[r.accountID] == nil {
			first[r.accountID] = r
		}
	}
	if len(first) == 0 {
		return nil
	}
	mentions, err := openMentions(ctx, tx, slices.Sorted(maps.Keys(first)))
	if err != nil {
		return err
	}
	changed := map[int64]*record{}
	for _, m := range mentions {
		r := first[m.accountID]
		r.document.Lines = append(r.document.Lines, m.line)
		changed[r.id] = r
		if err := setMentioned(ctx, tx, m.id, r.id); err != nil {
			return err
		}
	}
	for _, r := range changed {
		if err := setDocument(ctx, tx, *r); err != nil {
			return err
		}
	}
	return nil
}

// nameCorrected writes the number of the corrected document into a credit note that was made before that had one. A
// document has a lower id than what corrects it, so its number is known by now.
func (s *Service) nameCorrected(ctx context.Context, tx *db.Tx, note *record, given map[int64]string) error {
	number, ok := given[*note.corrects]
	if !ok {
		corrected, err := get(ctx, tx, *note.corrects)
		if err != nil {
			return err
		}
		number = corrected.number()
	}
	if number == "" {
		return fmt.Errorf("credit note %d corrects %d, which has no number", note.id, *note.corrects)
	}
	note.corrected(number)
	return setDocument(ctx, tx, *note)
}
