package domains

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/port/registrar"
)

// giveUp is how long an operation is retried that the registry cannot execute.
const giveUp = 24 * time.Hour

var (
	// errLater says that the registry has to be asked again.
	errLater = errors.New("domains: the registry is asked again later")
	// errEnded says that another run has ended the operation, or has taken it over.
	errEnded = errors.New("domains: the operation has ended meanwhile")
)

// A run of an operation ends before its lease, so that no worker sends a request after another has taken over.
const (
	runFor   = 50 * time.Second
	leaseFor = 90 * time.Second
)

// ReturnLeases releases the leases of all operations. Only the single process of a database may call it, at its start:
// all leases are then those of a killed process.
func (s *Service) ReturnLeases(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return returnLeases(ctx, tx) })
}

// Work executes one operation at the registrar and stores its result. It may run twice and die at any point. errLater
// asks for another run.
func (s *Service) Work(ctx context.Context, id int64) error {
	o, err := getOperation(ctx, s.DB, id)
	if err != nil || !o.open() {
		return err
	}
	lease := rand.Text()
	var taken bool
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		taken, err = takeLease(ctx, tx, id, lease, tx.Now.Add(leaseFor))
		return err
	})
	if err != nil {
		return err
	}
	if !taken {
		return fmt.Errorf("%w: another works on it", errLater)
	}
	within, cancel := context.WithTimeout(ctx, runFor)
	err = s.workOn(within, id, lease)
	cancel()
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errLater, err)
	}
	return errors.Join(err, s.DB.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *db.Tx) error {
		return returnLease(ctx, tx, id, lease)
	}))
}

// workOn runs an operation whose lease is held.
func (s *Service) workOn(ctx context.Context, id int64, lease string) error {
	o, err := getOperation(ctx, s.DB, id) // as the former holder of the lease has left it
	if err != nil || !o.open() {
		return err
	}
	d, err := get(ctx, s.DB, o.domainID)
	if err != nil {
		return err
	}
	r, ok := s.Registrars.Registrar(d.sandbox)
	if !ok {
		return fmt.Errorf("%w: no registrar is configured", errLater)
	}
	a := attempt{Service: s, r: r, d: d, o: o, lease: lease}
	if o.sealed != nil {
		plain, err := s.Box.Open(o.sealed, sealedFor(d.id))
		if err == nil {
			err = json.Unmarshal(plain, &a.private)
		}
		if err != nil {
			return fmt.Errorf("domains: operation %d: %w", id, err)
		}
	}
	if err = a.run(ctx); !errors.Is(err, errEnded) {
		return err
	}
	// The new holder may need another run, and its job is the same as this one.
	if o, err = getOperation(ctx, s.DB, id); err == nil && o.open() {
		err = fmt.Errorf("%w: another has taken it over", errLater)
	}
	return err
}

// attempt is one run of an operation.
type attempt struct {
	*Service
	r       registrar.Registrar
	d       domain
	o       operation
	lease   string
	private private
}

// run reads the registry's state, acts when the operation is not done, and ends it when it is decided.
func (a *attempt) run(ctx context.Context) error {
	now, exists, err := a.info(ctx)
	if err != nil && registrar.KindOf(err) == registrar.Undecided && a.o.status == "attempted" {
		err = errors.Join(err, a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return setTakenUp(ctx, tx, a.o.id, a.lease) }))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errLater, err)
	}
	if a.done(now, exists) {
		return a.arrive(ctx, now)
	}
	if !now.Ours {
		if err := a.confirm(ctx); err != nil {
			return err
		}
	}
	if key := a.impossible(now, exists); key != "" {
		return a.fail(ctx, key, "")
	}
	if a.o.kind == opTransfer && a.o.status == "attempted" {
		state, err := a.transferState(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", errLater, err)
		case state == registrar.TransferPending || state == registrar.TransferDone:
			return errLater
		case state == registrar.TransferRejected:
			return a.fail(ctx, "registrar_rejected", "the transfer was refused")
		case state == registrar.TransferNone:
		}
	}
	if !a.restored(now) { // half of it cannot be refunded
		if a.o.takenUp { // and it is neither pending nor done
			return a.fail(ctx, ErrRejected.Key, "the registry has refused it")
		}
		if a.Clock.Now().Sub(a.o.createdAt) > giveUp {
			return a.fail(ctx, ErrUnreachable.Key, "") // the registry just reported that it was not done
		}
	}
	if a.o.kind == opRenew && now.ExpiresAt.IsZero() {
		return fmt.Errorf("%w: it does not say when the domain expires", errLater)
	}
	err = a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return setAttempted(ctx, tx, a.o.id, a.lease) })
	if err != nil {
		return err
	}
	return a.outcome(ctx, a.ask(ctx, now))
}

// info is the registry's view of the domain. One that it does not show us belongs to another registrar.
func (a *attempt) info(ctx context.Context) (now registrar.Domain, exists bool, err error) {
	now, err = a.r.Info(ctx, a.d.name)
	if kind := registrar.KindOf(err); err != nil && (kind == registrar.NotFound || kind == registrar.NotOurs) {
		return registrar.Domain{}, kind == registrar.NotOurs, nil
	}
	return now, err == nil, err
}

// done reports whether the registry has completed the operation. Before the first attempt only a renewal may be done
// already, by the registry itself.
func (a *attempt) done(now registrar.Domain, exists bool) bool {
	if !exists || !now.Ours {
		return false
	}
	switch a.o.kind {
	case opRegister, opTransfer:
		return a.o.status == "attempted"
	case opRenew:
		return now.ExpiresAt.After(a.o.expiresFrom.AddDate(a.o.years, 0, -2)) && now.Status == registrar.Active
	case opRestore:
		return a.o.status == "attempted" && now.Status == registrar.Active
	}
	return false
}

// confirm returns errLater when the registry does not show a domain that should be ours, or may have become ours, unless it
// is proven that this is the registry that was asked, and that it knows us by the right name.
func (a *attempt) confirm(ctx context.Context) error {
	var err error
	switch {
	case a.o.kind == opRenew || a.o.kind == opRestore:
		var kept bool
		if kept, err = a.observe(ctx, a.r, a.d.id, false); err == nil && !kept {
			return nil
		}
	case a.o.status == "attempted":
		shown, others, failure := a.showsAnother(ctx, a.r, a.d, "")
		switch {
		case failure != nil:
			err = failure
		case shown || !others:
			return nil
		default:
			err = errDoubted
		}
	default: // nothing was asked of a registry
		return nil
	}
	if errors.Is(err, errDoubted) {
		a.Log.ErrorContext(ctx, doubted, "domain", a.d.name, "operation", a.o.id)
	}
	return errors.Join(errLater, err)
}

// clockSkew bounds how far the registry's clock may be behind ours.
const clockSkew = 5 * time.Minute

// transferState returns the progress of this operation's transfer: an earlier one of the domain may have been rejected.
func (a *attempt) transferState(ctx context.Context) (registrar.TransferState, error) {
	return a.r.TransferState(ctx, a.d.name, a.o.createdAt.Add(-clockSkew))
}

// impossible returns the key of why the operation can no longer be done, or empty.
func (a *attempt) impossible(now registrar.Domain, exists bool) string {
	switch a.o.kind {
	case opRegister:
		if exists {
			return fault.DomainUnavailable.Key
		}
	case opTransfer:
		if !exists || now.Ours {
			return fault.DomainUnavailable.Key
		}
	case opRenew, opRestore:
		if !exists || !now.Ours || a.o.kind == opRestore && now.Status != registrar.Redemption && !a.restored(now) {
			return ErrNotActive.Key
		}
	}
	return ""
}

// restored reports whether a restore has brought back an expired domain that has not got its year yet.
func (a *attempt) restored(now registrar.Domain) bool {
	return a.o.kind == opRestore && a.o.status == "attempted" && now.Ours && now.Status == registrar.Grace
}

// ask sends the operation to the registrar; now is the registry's present state.
func (a *attempt) ask(ctx context.Context, now registrar.Domain) error {
	transactionID := fmt.Sprintf("stead-%d", a.o.id)
	var contacts map[registrar.Role]string
	if a.o.kind == opRegister || a.o.kind == opTransfer {
		handle, err := a.putContact(ctx)
		if err != nil {
			return err
		}
		contacts = everyRole(handle)
	}
	var err error
	switch a.o.kind {
	case opRegister:
		_, err = a.r.Register(ctx, registrar.Registration{
			TransactionID: transactionID, Name: a.d.name, Years: a.o.years, Contacts: contacts, Nameservers: a.private.Nameservers,
			Privacy: a.private.Privacy,
		})
	case opTransfer:
		err = a.r.Transfer(ctx, registrar.TransferIn{
			TransactionID: transactionID, Name: a.d.name, AuthCode: a.private.AuthCode, Years: a.o.years, Contacts: contacts,
		})
	case opRenew:
		// Years that the registry has added by itself are among the paid ones.
		left := a.o.years
		for left > 1 && now.ExpiresAt.After(a.o.expiresFrom.AddDate(a.o.years-left+1, 0, -2)) {
			left--
		}
		from := *a.o.expiresFrom
		if left < a.o.years {
			from = now.ExpiresAt
		}
		_, err = a.r.Renew(ctx, registrar.Renewal{TransactionID: transactionID, Name: a.d.name, Years: left, ExpiresAt: from})
	case opRestore:
		if a.restored(now) {
			_, err = a.r.Renew(ctx, registrar.Renewal{TransactionID: transactionID, Name: a.d.name, Years: 1, ExpiresAt: now.ExpiresAt})
			break
		}
		_, err = a.r.Restore(ctx, transactionID, a.d.name)
	}
	return err
}

// handle is the handle of the operation's contact.
func (a *attempt) handle() string { return cmp.Or(a.private.Handle, a.d.contact("")) }

// putContact puts the contact of a registration or transfer at the registry, and returns its handle. A registry that
// chooses handles itself would make another contact each time, so its handle is stored and used again.
func (a *attempt) putContact(ctx context.Context) (string, error) {
	if a.private.Handle != "" {
		return a.private.Handle, nil
	}
	handle, err := a.r.PutContact(ctx, a.d.contact(""), a.private.Contact)
	if err != nil || handle == a.d.contact("") {
		return handle, err
	}
	a.private.Handle = handle
	sealed, err := a.seal(a.d.id, a.private)
	if err != nil {
		return "", err
	}
	return handle, a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return setSealed(ctx, tx, a.o.id, a.lease, sealed) })
}

// outcome handles the registrar's answer. It verifies success by reading the registry; it also checks a refusal that
// another attempt of ours may have caused.
func (a *attempt) outcome(ctx context.Context, err error) error {
	if err != nil {
		switch registrar.KindOf(err) {
		case registrar.Unreachable, registrar.Unknown, registrar.Undecided:
			return fmt.Errorf("%w: %w", errLater, err)
		case registrar.NotFound, registrar.Exists, registrar.NotOurs, registrar.AuthCode, registrar.Locked, registrar.Rejected,
			registrar.Unsupported:
		}
	}
	a.o.status = "attempted"
	now, exists, infoErr := a.info(ctx)
	if infoErr != nil {
		return fmt.Errorf("%w: %w", errLater, infoErr)
	}
	switch {
	case a.done(now, exists):
		return a.arrive(ctx, now)
	case err == nil: // a transfer takes days, and a registry may be slow
		return errLater
	case a.restored(now):
		a.Log.ErrorContext(ctx, "domains: the registry has restored a domain, and refuses the year that it needs: renew it there",
			"domain", a.d.name, "operation", a.o.id, "error", err)
		return fmt.Errorf("%w: %w", errLater, err)
	}
	if a.o.kind == opTransfer { // another run of ours may have requested it
		state, stateErr := a.transferState(ctx)
		if stateErr != nil && registrar.KindOf(stateErr) != registrar.NotFound {
			return fmt.Errorf("%w: %w", errLater, stateErr)
		}
		if state == registrar.TransferPending || state == registrar.TransferDone {
			return errLater
		}
	}
	key, message := refusal(err)
	return a.fail(ctx, key, message)
}

// arriveIn bounds how long a transferred domain waits for its settings.
const arriveIn = 30 * 24 * time.Hour

// arrive completes an operation that the registry has done. A transferred domain gets the contact, the name servers and
// the privacy of the order; settings that the registry refuses stay unchanged, and the operation's message says so.
func (a *attempt) arrive(ctx context.Context, now registrar.Domain) error {
	if a.o.kind != opTransfer {
		return a.complete(ctx, now, "")
	}
	var refused []string
	asked := false
	for _, set := range []struct {
		needed bool
		ask    func() error
	}{
		{now.Contacts[registrar.Owner] != a.handle(), func() error { return a.takeOver(ctx, now) }},
		{len(a.private.Nameservers) > 0 && !sameHosts(now.Nameservers, a.private.Nameservers), func() error {
			return a.r.SetNameservers(ctx, a.d.name, a.private.Nameservers)
		}},
		{a.private.Privacy && !now.Privacy, func() error { return a.r.SetPrivacy(ctx, a.d.name, true) }},
	} {
		if !set.needed {
			continue
		}
		asked = true
		if err := set.ask(); err != nil {
			kind := registrar.KindOf(err)
			if (kind == registrar.Unreachable || kind == registrar.Unknown) && a.Clock.Now().Sub(a.o.createdAt) < arriveIn {
				return fmt.Errorf("%w: %w", errLater, err)
			}
			_, message := refusal(err)
			refused = append(refused, message)
		}
	}
	if asked {
		var err error
		if now, err = a.r.Info(ctx, a.d.name); err != nil {
			return fmt.Errorf("%w: %w", errLater, err)
		}
	}
	return a.complete(ctx, now, strings.Join(refused, "; "))
}

// takeOver gives a transferred domain the contact of its order: it arrives with the former registrar's.
func (a *attempt) takeOver(ctx context.Context, now registrar.Domain) error {
	handle, err := a.putContact(ctx)
	if err != nil || handle == now.Contacts[registrar.Owner] {
		return err
	}
	return a.r.SetContacts(ctx, a.d.name, everyRole(handle))
}

func everyRole(handle string) map[registrar.Role]string {
	return map[registrar.Role]string{
		registrar.Owner: handle, registrar.Admin: handle, registrar.Tech: handle, registrar.Billing: handle,
	}
}

// sameHosts reports whether two lists name the same hosts, in any order.
func sameHosts(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// refusal converts the registrar's refusal for the customer.
func refusal(err error) (key, message string) {
	var e *registrar.Error
	if errors.As(err, &e) {
		message = e.Message
	}
	switch registrar.KindOf(err) {
	case registrar.Exists, registrar.NotFound, registrar.NotOurs:
		return fault.DomainUnavailable.Key, message
	case registrar.AuthCode:
		return ErrAuthCodeInvalid.Key, message
	case registrar.Locked:
		return ErrLocked.Key, message
	case registrar.Unsupported:
		return fault.UnsupportedOperation.Key, message
	case registrar.Rejected, registrar.Unreachable, registrar.Unknown, registrar.Undecided:
	}
	return ErrRejected.Key, message
}

// doneEvents and failedEvents announce the results of operations.
var (
	doneEvents = map[opKind]string{
		opRegister: "domain.registered", opTransfer: "domain.transfer_in_completed", opRenew: "domain.renewed", opRestore: "domain.renewed",
	}
	failedEvents = map[opKind]string{
		opRegister: "domain.registration_failed", opTransfer: "domain.transfer_in_failed", opRenew: "domain.renewal_failed",
		opRestore: "domain.renewal_failed",
	}
)

// complete captures the money and stores the registry's state, in one commit.
func (a *attempt) complete(ctx context.Context, now registrar.Domain, message string) error {
	return a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := a.Orders.Complete(ctx, tx, a.o.orderID); err != nil {
			return err
		}
		ended, err := setFinished(ctx, tx, a.o.id, a.lease, nil, message)
		if err != nil {
			return err
		}
		if !ended {
			return errEnded
		}
		before, err := lock(ctx, tx, a.d.id)
		if err != nil {
			return err
		}
		d := before.with(now, tx.Now)
		if a.o.kind == opRenew { // the registry may have added more years by itself than were paid
			paid := a.o.expiresFrom.AddDate(a.o.years, 0, 0)
			if now.ExpiresAt.After(paid.AddDate(0, 6, 0)) {
				d = d.paidUntil(paid, now, tx.Now)
			}
		}
		d.reminded, d.renewAt = nil, nil
		next := nextStep(d, tx.Now)
		if before.seen != a.d.seen { // a newer state may have been stored meanwhile
			next = tx.Now
		}
		if err := put(ctx, tx, d, next); err != nil {
			return err
		}
		if !d.sandbox && (a.o.kind == opRegister || a.o.kind == opTransfer) {
			if err := a.Claims.Registered(ctx, tx, d.accountID, d.name); err != nil {
				return err
			}
		}
		var n eventDetails
		zone, err := findTLD(ctx, tx, d.tld, false)
		if err != nil {
			return err
		}
		before.tldNow, d.tldNow = &zone, &zone // whose days give the moments after the expiry
		if n.previous, err = outbox.Changed(wire(ctx, before), wire(ctx, d)); err != nil {
			return err
		}
		if err := a.tell(ctx, tx, doneEvents[a.o.kind], d.id, n); err != nil || !before.status.kept() {
			return err
		}
		return a.tellSettings(ctx, tx, before, d, false)
	})
}

// ForgetContact deletes a contact that no domain has: of a registration or transfer that has failed, or a replaced one. The registry
// keeps nothing of such a person.
func (s *Service) ForgetContact(ctx context.Context, sandbox bool, handle string) error {
	r, ok := s.Registrars.Registrar(sandbox)
	if !ok {
		return nil // and nobody to ask
	}
	err := r.DeleteContact(ctx, handle)
	switch registrar.KindOf(err) {
	case registrar.NotFound, registrar.NotOurs, registrar.Exists:
		return nil
	case registrar.Rejected, registrar.Locked, registrar.Unsupported, registrar.AuthCode:
		s.Log.WarnContext(ctx, "domains: the registry keeps a contact that no domain here has", "contact", handle, "error", err)
		return nil
	case registrar.Unreachable, registrar.Unknown, registrar.Undecided:
	}
	return err
}

// fail refunds the money and ends the operation, in one commit.
func (a *attempt) fail(ctx context.Context, key, message string) error {
	return a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := a.Orders.Fail(ctx, tx, a.o.orderID, key); err != nil {
			return err
		}
		ended, err := setFinished(ctx, tx, a.o.id, a.lease, &key, message)
		if err != nil {
			return err
		}
		if !ended {
			return errEnded
		}
		switch a.o.kind {
		case opRegister, opTransfer:
			if err = end(ctx, tx, a.d.id, Failed); err == nil && a.o.status == "attempted" {
				err = a.enqueueForget(ctx, tx, a.d, a.handle())
			}
		case opRenew, opRestore:
			err = postpone(ctx, tx, a.d.id, tx.Now) // the registry's state takes precedence over the row
			if err == nil {
				err = renewAgain(ctx, tx, a.d.id, tx.Now.Add(renewEvery))
			}
		}
		if err != nil {
			return err
		}
		return a.tell(ctx, tx, failedEvents[a.o.kind], a.d.id, eventDetails{errorKey: &key})
	})
}
