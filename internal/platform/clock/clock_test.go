package clock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stead.dev/stead/internal/platform/clock"
)

func TestSystemShowsUTCInMicrosecondsMovedByTheOffset(t *testing.T) {
	const offset = 36 * time.Hour
	before := time.Now()
	got := clock.System(offset).Now()
	after := time.Now()

	if got.Location() != time.UTC {
		t.Errorf("location is %v, want UTC", got.Location())
	}
	if got.Nanosecond()%1000 != 0 {
		t.Errorf("%v is not in whole microseconds", got)
	}
	if low, high := before.Add(offset).Truncate(time.Microsecond), after.Add(offset); got.Before(low) || got.After(high) {
		t.Errorf("now is %v, want between %v and %v", got, low, high)
	}
}

func TestATimeSurvivesTheDatabaseUnchanged(t *testing.T) {
	now := clock.System(0).Now()
	if back := time.UnixMicro(now.UnixMicro()).UTC(); !back.Equal(now) || back != now {
		t.Errorf("read back %#v, want %#v", back, now)
	}
}

func TestFakeMovesOnlyWhenTold(t *testing.T) {
	start := time.Date(2026, 11, 21, 14, 0, 0, 1234, time.FixedZone("UZT", 5*60*60))
	fake := clock.NewFake(start)

	want := time.Date(2026, 11, 21, 9, 0, 0, 1000, time.UTC)
	if got := fake.Now(); got != want {
		t.Fatalf("first time is %v, want %v", got, want)
	}
	if got := fake.Advance(time.Hour); got != want.Add(time.Hour) || fake.Now() != got {
		t.Errorf("after an hour it shows %v and %v, want %v", got, fake.Now(), want.Add(time.Hour))
	}
	fake.Set(start)
	if got := fake.Now(); got != want {
		t.Errorf("set back it shows %v, want %v", got, want)
	}
}

func TestFakeIsSafeForConcurrentUse(t *testing.T) {
	fake := clock.NewFake(time.Unix(0, 0))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			fake.Advance(time.Second)
			_ = fake.Now()
		})
	}
	wg.Wait()
	if got := fake.Now(); got != time.Unix(50, 0).UTC() {
		t.Errorf("fifty seconds were added, the clock shows %v", got)
	}
}

func TestSleepEndsWithItsTimeOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := clock.Stopwatch()
		if err := clock.Sleep(t.Context(), time.Hour); err != nil || begun() != time.Hour {
			t.Errorf("after %v: %v", begun(), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		begun = clock.Stopwatch()
		if err := clock.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) || begun() != time.Minute {
			t.Errorf("cancelled after %v: %v", begun(), err)
		}
	})
}

func TestASharedClockShowsTheTimeOfTheDatabase(t *testing.T) {
	machine := clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	shared := clock.NewShared(machine, time.Hour)
	database := machine.Now().Add(-10 * time.Minute)
	ask := func(context.Context) (time.Time, error) {
		machine.Advance(2 * time.Second)
		database = database.Add(time.Second)
		now := database
		database = database.Add(time.Second)
		return now, nil
	}
	if want := machine.Now().Add(time.Hour); !shared.Now().Equal(want) {
		t.Errorf("before it has looked it shows %v, want %v", shared.Now(), want)
	}
	for range 2 { // the second look finds nothing to change
		if err := shared.Look(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
		if want := database.Add(time.Hour); !shared.Now().Equal(want) {
			t.Errorf("it shows %v, want %v", shared.Now(), want)
		}
	}
	database = database.Add(time.Second) // within what the question takes
	was := shared.Now().Sub(machine.Now())
	if err := shared.Look(t.Context(), ask); err != nil || shared.Now().Sub(machine.Now()) != was {
		t.Errorf("it wavers: %v, %v, was %v", err, shared.Now().Sub(machine.Now()), was)
	}
	lost := errors.New("no answer")
	if err := shared.Look(t.Context(), func(context.Context) (time.Time, error) { return time.Time{}, lost }); !errors.Is(err, lost) {
		t.Error(err)
	}
	if shared.Now().Sub(machine.Now()) != was {
		t.Error("it moves without an answer")
	}
}
