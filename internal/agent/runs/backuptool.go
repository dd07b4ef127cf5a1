package runs

import (
	"context"
	"fmt"
)

// Backups makes backups of services.
type Backups interface {
	// Request asks for a backup of one of the account's services. One with the same note that was asked for before is the
	// same.
	Request(ctx context.Context, accountID, serviceID int64, note string) (id int64, err error)
}

func takeBackup(ctx context.Context, w workplace, arguments string) (any, error) {
	if err := nothingElse(arguments); err != nil {
		return nil, err
	}
	// The note names the run: after a crash, and when the model asks again, it is the backup that was asked for.
	id, err := w.Backups.Request(ctx, w.accountID, w.serviceID, fmt.Sprintf("AI agent, run %d", w.runID))
	if err != nil {
		return nil, answered(err)
	}
	return map[string]any{"ok": true, "backup": id, "status": "it is made in the background"}, nil
}
