package signal

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// readTimeout bounds one reading of a copy.
const readTimeout = 5 * time.Second

// Copy is a value of the database that a process answers from memory. It is read at the start and again after each message of a
// topic.
type Copy[T any] struct {
	read  func(ctx context.Context) (T, error)
	value atomic.Pointer[T]
	// reading keeps an older reading from replacing a newer one.
	reading sync.Mutex
}

// NewCopy makes a copy that has a value until it is read.
func NewCopy[T any](before T, read func(ctx context.Context) (T, error)) *Copy[T] {
	c := &Copy[T]{read: read}
	c.value.Store(&before)
	return c
}

// Get returns the value that was read last.
func (c *Copy[T]) Get() T { return *c.value.Load() }

// Read reads the value now. After an error the former one stays.
func (c *Copy[T]) Read(ctx context.Context) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	value, err := c.read(ctx)
	if err == nil {
		c.value.Store(&value)
	}
	return err
}

// Topics are where a copy hears of changes, such as a Hub.
type Topics interface {
	Subscribe(topic string, f func(payload string))
}

// Follow reads the value, and again after each message of a topic.
func (c *Copy[T]) Follow(ctx context.Context, of Topics, topic string, log *slog.Logger) error {
	if err := c.Read(ctx); err != nil {
		return err
	}
	of.Subscribe(topic, func(string) {
		if err := c.Read(context.WithoutCancel(ctx)); err != nil {
			log.Error("what has changed cannot be read", "topic", topic, "error", err)
		}
	})
	return nil
}
