package autohttps

import (
	"context"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// zapLogger is a logger for certmagic that writes into ours.
func zapLogger(to *slog.Logger) *zap.Logger { return zap.New(core{to: to}) }

// core implements zapcore.Core. What certmagic takes for news is detail here: only what goes wrong is above the level debug.
type core struct{ to *slog.Logger }

func level(of zapcore.Level) slog.Level {
	switch {
	case of >= zapcore.ErrorLevel:
		return slog.LevelError
	case of == zapcore.WarnLevel:
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}

// Enabled implements zapcore.LevelEnabler.
func (c core) Enabled(l zapcore.Level) bool { return c.to.Enabled(context.Background(), level(l)) }

// With implements zapcore.Core.
func (c core) With(fields []zapcore.Field) zapcore.Core {
	return core{to: c.to.With(attributes(fields)...)}
}

// Check implements zapcore.Core.
func (c core) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c core) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	c.to.Log(context.Background(), level(entry.Level), "own certificate: "+entry.Message, attributes(fields)...)
	return nil
}

// Sync implements zapcore.Core.
func (core) Sync() error { return nil }

func attributes(fields []zapcore.Field) []any {
	encoder := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(encoder)
	}
	all := make([]any, 0, len(encoder.Fields))
	for name, value := range encoder.Fields {
		all = append(all, slog.Any(name, value))
	}
	return all
}
