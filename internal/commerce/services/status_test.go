package services

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var everyStatus = []Status{Pending, Provisioning, Active, PastDue, Suspended, Terminating, Terminated, Failed, Cancelled}

var everyEvent = []event{
	orderPaid, orderDropped, accountMade, accountRefused, expired, graceOver, renewed, suspensionOrdered,
	suspensionLifted, terminationDue, endOrdered, accountRemoved, restored, notRestored, tariffChanged,
}

// TestAServiceMovesOnlyAlongTheTable goes through every state and event. What the
// table does not hold must be refused.
func TestAServiceMovesOnlyAlongTheTable(t *testing.T) {
	type step struct {
		from Status
		by   event
	}
	want := map[step]Status{
		{Pending, orderPaid}:           Provisioning,
		{Pending, orderDropped}:        Cancelled,
		{Provisioning, accountMade}:    Active,
		{Provisioning, accountRefused}: Failed,
		{Provisioning, notRestored}:    Terminated,
		{Active, expired}:              PastDue,
		{Active, renewed}:              Active,
		{Active, suspensionOrdered}:    Suspended,
		{Active, tariffChanged}:        Active,
		{Active, endOrdered}:           Terminating,
		{PastDue, graceOver}:           Suspended,
		{PastDue, renewed}:             Active,
		{PastDue, suspensionOrdered}:   Suspended,
		{PastDue, tariffChanged}:       PastDue,
		{PastDue, endOrdered}:          Terminating,
		{Suspended, renewed}:           Active,
		{Suspended, suspensionLifted}:  Active,
		{Suspended, terminationDue}:    Terminating,
		{Suspended, tariffChanged}:     Suspended,
		{Suspended, endOrdered}:        Terminating,
		{Terminating, accountRemoved}:  Terminated,
		{Terminated, restored}:         Provisioning,
	}
	got := map[step]Status{}
	for _, from := range everyStatus {
		for _, by := range everyEvent {
			if to, ok := from.after(by); ok {
				got[step{from, by}] = to
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
}

func TestActionsAndLiveness(t *testing.T) {
	for status, want := range map[Status]struct {
		live    bool
		actions []string
	}{
		Pending:      {false, []string{"pay", "cancel", "update"}},
		Provisioning: {true, []string{"update"}},
		Active:       {true, []string{"update", "manage_files", "renew", "change_tariff"}},
		PastDue:      {true, []string{"update", "manage_files", "renew", "change_tariff"}},
		Suspended:    {true, []string{"update", "renew"}},
		Terminating:  {true, []string{}},
		Terminated:   {false, []string{}},
		Failed:       {false, []string{}},
		Cancelled:    {false, []string{}},
	} {
		if status.live() != want.live {
			t.Errorf("%s: live is %t", status, status.live())
		}
		if diff := cmp.Diff(want.actions, status.actions()); diff != "" {
			t.Errorf("%s: actions (-want +got):\n%s", status, diff)
		}
	}
}

func TestRenewingIsOfferedWhereMoneyBringsBack(t *testing.T) {
	for reason, want := range map[SuspendReason][]string{
		Unpaid: {"update", "renew"}, Abuse: {"update"}, Manual: {"update"}, ResourceLimit: {"update"},
	} {
		if diff := cmp.Diff(want, Row{Status: Suspended, suspendReason: &reason}.actions()); diff != "" {
			t.Errorf("%s: actions (-want +got):\n%s", reason, diff)
		}
	}
	if got := (Row{Status: Active}).actions(); !slices.Contains(got, "renew") {
		t.Errorf("an active service offers %v", got)
	}
}
