package status

import (
	"context"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/outbox"
)

// Open opens an incident with its first update.
func (s *Service) Open(ctx context.Context, n Incident, message i18n.Text) (Incident, error) {
	if _, ok := impactLevels[n.Impact]; !ok {
		return n, errImpact
	}
	if !goesOn(n.Stage) {
		return n, errStage
	}
	n.Components = append([]string{}, n.Components...)
	components, err := s.components(ctx)
	if err == nil {
		err = checkKeys(n.Components, components)
	}
	if err == nil {
		err = written{n.Title, message}.check()
	}
	if err != nil {
		return n, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if n.ID, err = insertIncident(ctx, tx, n); err != nil {
			return err
		}
		n.StartedAt = tx.Now
		for _, c := range components {
			if !concerns(n.Components, c.Key) {
				continue
			}
			if err := noteDay(ctx, tx, day{startOfDay(tx.Now), c.Key, impactLevels[n.Impact]}); err != nil {
				return err
			}
		}
		if err := s.say(ctx, tx, &n, message); err != nil {
			return err
		}
		return s.tell(ctx, tx, "platform.incident_opened", n)
	})
	s.forget()
	return n, err
}

// Progress adds an update to an incident; an empty impact stays what it is.
func (s *Service) Progress(ctx context.Context, id int64, stage Stage, impact Impact, message i18n.Text) (Incident, error) {
	if !goesOn(stage) {
		return Incident{}, errStage
	}
	if _, ok := impactLevels[impact]; !ok && impact != "" {
		return Incident{}, errImpact
	}
	return s.change(ctx, id, message, func(_ context.Context, _ *db.Tx, n *Incident) error {
		n.Stage = stage
		if impact != "" {
			n.Impact = impact
		}
		return nil
	})
}

// Resolve ends an incident.
func (s *Service) Resolve(ctx context.Context, id int64, message i18n.Text) (Incident, error) {
	return s.change(ctx, id, message, func(ctx context.Context, tx *db.Tx, n *Incident) error {
		n.Stage, n.ResolvedAt = Resolved, &tx.Now
		return s.tell(ctx, tx, "platform.incident_resolved", *n)
	})
}

// change changes an incident that goes on, and adds an update.
func (s *Service) change(ctx context.Context, id int64, message i18n.Text, f func(ctx context.Context, tx *db.Tx, n *Incident) error) (n Incident, err error) {
	if err := checkText("message", message, maxBody); err != nil {
		return n, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if n, err = lockIncident(ctx, tx, id); err != nil {
			return err
		}
		if n.ResolvedAt != nil {
			return errOver
		}
		if err := f(ctx, tx, &n); err != nil {
			return err
		}
		if err := putIncident(ctx, tx, n); err != nil {
			return err
		}
		return s.say(ctx, tx, &n, message)
	})
	s.forget()
	return n, err
}

// say adds an update with the incident's stage, and has subscribers told.
func (s *Service) say(ctx context.Context, tx *db.Tx, n *Incident, message i18n.Text) error {
	u := Update{IncidentID: n.ID, Stage: n.Stage, Body: message, CreatedAt: tx.Now}
	n.Updates = append([]Update{u}, n.Updates...)
	id, err := insertUpdate(ctx, tx, u)
	if err != nil {
		return err
	}
	return s.announce(ctx, tx, notice{updateID: &id})
}

// object is an incident in events.
type object struct {
	ID        int64     `json:"id"`
	Title     string    `json:"title"`
	Impact    Impact    `json:"impact"`
	Status    Stage     `json:"status"`
	StartedAt time.Time `json:"started_at"`
}

// tell emits an event to everybody who gets events: each account has its own.
func (s *Service) tell(ctx context.Context, tx *db.Tx, kind string, n Incident) error {
	accounts, err := s.Audience.Audience(ctx, tx)
	if err != nil {
		return err
	}
	for _, id := range accounts {
		err := s.Events.Emit(ctx, tx, outbox.Event{
			Type: kind, AccountID: id, Subject: "incident", SubjectID: n.ID,
			Data: object{n.ID, n.Title.In(i18n.Fallback), n.Impact, n.Stage, n.StartedAt},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// goesOn tells that an incident at the stage is not over.
func goesOn(s Stage) bool { return s != Resolved && slices.Contains(stages, s) }
