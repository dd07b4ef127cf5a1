package db

import (
	"fmt"
	"slices"
	"time"
)

// encode converts times in the arguments to the form of the columns. It does not change the caller's slice.
func encode(args []any) []any {
	out := args
	set := func(i int, v any) {
		if &out[0] == &args[0] {
			out = slices.Clone(args)
		}
		out[i] = v
	}
	for i, a := range args {
		switch v := a.(type) {
		case time.Time:
			set(i, v.UnixMicro())
		case *time.Time:
			if v == nil {
				set(i, nil)
			} else {
				set(i, v.UnixMicro())
			}
		}
	}
	return out
}

// scan reads into dest and converts microseconds to times.
func scan(read func(dest ...any) error, dest []any) error {
	var micros []timeDest
	for i, d := range dest {
		switch v := d.(type) {
		case *time.Time:
			t := timeDest{at: i, plain: v}
			micros = append(micros, t)
		case **time.Time:
			micros = append(micros, timeDest{at: i, nullable: v})
		}
	}
	if len(micros) == 0 {
		return mark(read(dest...))
	}
	swapped := make([]any, len(dest))
	copy(swapped, dest)
	for i := range micros {
		swapped[micros[i].at] = &micros[i].value
	}
	if err := read(swapped...); err != nil {
		return mark(err)
	}
	for _, m := range micros {
		if err := m.store(); err != nil {
			return err
		}
	}
	return nil
}

// timeDest is a Scan destination that holds a time.
type timeDest struct {
	at       int
	value    *int64
	plain    *time.Time
	nullable **time.Time
}

func (d timeDest) store() error {
	switch {
	case d.nullable != nil && d.value == nil:
		*d.nullable = nil
	case d.nullable != nil:
		t := time.UnixMicro(*d.value).UTC()
		*d.nullable = &t
	case d.value == nil:
		return fmt.Errorf("db: column %d is NULL and its destination is a time.Time", d.at+1)
	default:
		*d.plain = time.UnixMicro(*d.value).UTC()
	}
	return nil
}
