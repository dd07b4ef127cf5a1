// Package limits makes the kernel enforce the limits of an account's plan: processes, memory and processor by cgroups,
// disk and files by quotas, each where the machine has it. Without quotas, Sweeper stops full accounts from writing.
package limits

import (
	"errors"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/cgroup"
)

// Kernel sets the limits of users.
type Kernel struct {
	groups *cgroup.Controllers
	quota  *Quota // nil: the file system has none
}

// Open detects what the machine has for accounts whose files are below dir.
func Open(dir string) (*Kernel, error) {
	quota, err := OpenQuota(dir)
	if err != nil {
		return nil, err
	}
	return &Kernel{groups: cgroup.Machine(), quota: quota}, nil
}

// Close releases the kernel interfaces; the limits stay.
func (k *Kernel) Close() error {
	if k.quota == nil {
		return nil
	}
	return k.quota.Close()
}

// String summarizes what the machine has.
func (k *Kernel) String() string {
	if k.quota == nil {
		return "cgroups " + k.groups.String() + ", no quota"
	}
	return "cgroups " + k.groups.String() + ", quota"
}

// Set applies the limits of the record: accounts.UsersConfig.Limit.
func (k *Kernel) Set(rec accounts.Record) error {
	l := rec.Limits
	err := k.groups.Set(rec.User.Name, cgroup.Limits{CPUPercent: l.CPUPercent, MemoryMB: l.MemoryMB, Processes: l.Processes})
	if k.quota == nil {
		return err
	}
	return errors.Join(err, k.quota.Set(rec.User.UID, most(l.DiskBytes()), l.Inodes))
}

// most is up to where the kernel lets an account with this disk limit write, in bytes; 0 is no limit. Above the limit itself the
// Sweeper lets only small files grow.
func most(limit int64) int64 {
	if limit == 0 {
		return 0
	}
	return limit + Reserve(limit)
}

// Release removes them with the account: accounts.UsersConfig.Release.
func (k *Kernel) Release(rec accounts.Record) error {
	err := k.groups.Remove(rec.User.Name)
	if k.quota == nil {
		return err
	}
	return errors.Join(err, k.quota.Set(rec.User.UID, 0, 0))
}
