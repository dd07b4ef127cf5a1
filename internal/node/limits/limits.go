// Package limits has the kernel hold an account's user to the limits of its plan.
package limits

import (
	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/cgroup"
)

// Set makes the limits those of the record: accounts.UsersConfig.Limit.
func Set(rec accounts.Record) error {
	l := rec.Limits
	return cgroup.Machine().Set(rec.User.Name, cgroup.Limits{CPUPercent: l.CPUPercent, MemoryMB: l.MemoryMB, Processes: l.Processes})
}

// Release ends them with the account: accounts.UsersConfig.Release.
func Release(rec accounts.Record) error { return cgroup.Machine().Remove(rec.User.Name) }
