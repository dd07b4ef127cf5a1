package facility

import (
	"context"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

// Backuper is a facility with a part of its own in the backups of accounts.
type Backuper interface {
	// BackupPart names the part: panel.PartDatabases, panel.PartMail.
	BackupPart() panel.BackupPart
	// DumpBackup writes what the account has into dir, an empty directory of the machine's own that
	// nobody but root enters: one entry, file or directory, per item (a database, a mailbox), each
	// consistent in itself. It answers how many items there are. Hard links to what does not change
	// any more (mails) are welcome; symbolic links and special files are not kept.
	DumpBackup(ctx context.Context, a accounts.Account, dir string) (items int64, err error)
	// LoadBackup makes what the account has as DumpBackup wrote it to dir, byte for byte: what came
	// since is gone. Items, when there are any, are the names of the only ones that are touched
	// ("s12_shop", "info@example.com"); names that are none of this facility's are passed over. It may
	// be called again after it was interrupted at any point.
	LoadBackup(ctx context.Context, a accounts.Account, dir string, items []string) error
}

// Writer is a facility that writes into homes without the machine's files facility. The node passes it a function to
// call with the account's ref afterwards, so that usage is counted again.
type Writer interface {
	OnWritten(measure func(ctx context.Context, ref string) error)
}
