package jobs

import (
	"context"
	"database/sql"
	"sync"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"
)

// polling spares SQLite most of River's polls. SQLite cannot notify, so River asks each queue for jobs many times a
// second, by a statement that costs more than many a job. Nearly all changes of the queue are this process's own:
// polling knows of them and answers "none" itself while there were none. Every askAnyway-th poll asks the database all
// the same, because a command beside the server may have inserted a job, and a retry's time may have come.
type polling struct {
	mu     sync.Mutex
	queues map[string]*polled
	idle   int // how many polls in a row are answered here
}

// polled is what polling knows of one queue.
type polled struct {
	changed bool // a job may have become available since the database was last asked
	spared  int  // polls since then that were answered here
}

func newPolling(askAnyway int) *polling {
	return &polling{queues: map[string]*polled{}, idle: askAnyway - 1}
}

// wants reports whether the next poll of the queue must ask the database, and notes that it does.
func (p *polling) wants(queue string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[queue]
	switch {
	case q == nil: // the first poll
		p.queues[queue] = &polled{}
		return true
	case q.changed || q.spared >= p.idle:
		*q = polled{}
		return true
	default:
		q.spared++
		return false
	}
}

// change notes that the queues, or all, may have a job that is available. It is called after the commit.
func (p *polling) change(queues ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range queues {
		if q := p.queues[name]; q != nil {
			q.changed = true
		}
	}
	if len(queues) > 0 {
		return
	}
	for _, q := range p.queues {
		q.changed = true
	}
}

// pollingDriver is River's driver with polling in front of its polls.
type pollingDriver struct {
	*riversqlite.Driver
	polling *polling
}

// GetExecutor implements riverdriver.Driver.
func (d pollingDriver) GetExecutor() riverdriver.Executor {
	return pollingExecutor{d.Driver.GetExecutor(), d.polling}
}

// SQLite's handle is what our transactions give River.
var _ riverdriver.Driver[*sql.Tx] = pollingDriver{}

type pollingExecutor struct {
	riverdriver.Executor
	polling *polling
}

// JobGetAvailable implements riverdriver.Executor.
func (e pollingExecutor) JobGetAvailable(ctx context.Context, params *riverdriver.JobGetAvailableParams) ([]*rivertype.JobRow, error) {
	if !e.polling.wants(params.Queue) {
		return nil, nil
	}
	found, err := e.Executor.JobGetAvailable(ctx, params)
	if err != nil || len(found) > 0 { // there may be more
		e.polling.change(params.Queue)
	}
	return found, err
}

// Begin implements riverdriver.Executor. In its own transactions River makes jobs available: periodic ones, and those
// whose time has come.
func (e pollingExecutor) Begin(ctx context.Context) (riverdriver.ExecutorTx, error) {
	tx, err := e.Executor.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return pollingTx{tx, e.polling}, nil
}

type pollingTx struct {
	riverdriver.ExecutorTx
	polling *polling
}

// Commit implements riverdriver.ExecutorTx.
func (tx pollingTx) Commit(ctx context.Context) error {
	err := tx.ExecutorTx.Commit(ctx)
	if err == nil {
		tx.polling.change()
	}
	return err
}
