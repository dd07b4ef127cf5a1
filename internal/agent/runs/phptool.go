package runs

import (
	"context"
	"encoding/json"

	"stead.dev/stead/internal/platform/redact"
	"stead.dev/stead/internal/port/panel"
)

// PHP is how the programs of services run.
type PHP interface {
	// Settings returns how the programs of one of the account's services run.
	Settings(ctx context.Context, accountID, serviceID int64) (panel.PHPSettings, error)
	// With returns the settings after a change, which is judged and not made.
	With(ctx context.Context, accountID, serviceID int64, version *string, options map[string]json.RawMessage) (panel.PHPSettings, error)
	// Replace sets settings, which must be as before: false when they are not.
	Replace(ctx context.Context, accountID, serviceID int64, before, after panel.PHPSettings) (bool, error)
}

// phpPath is where the journal has the settings of PHP. They are no file: paths of files begin with a slash.
const phpPath = "php"

func setPHP(ctx context.Context, w workplace, arguments string) (p plan, err error) {
	in, err := decode[struct {
		Version *string                    `json:"version"`
		Options map[string]json.RawMessage `json:"options"`
	}](arguments)
	if err != nil {
		return p, err
	}
	if in.Version == nil && len(in.Options) == 0 {
		return p, malformed("say a version or options")
	}
	before, err := w.lookPHP(ctx)
	if err != nil {
		return p, err
	}
	after, err := w.PHP.With(ctx, w.accountID, w.serviceID, in.Version, in.Options)
	if err != nil {
		return p, answered(err)
	}
	content, err := json.Marshal(after)
	if err != nil {
		return p, err
	}
	if hashOf(content) == before.hash {
		return p, refuse("nothing_changed", "PHP is set so already")
	}
	readable := func(content []byte) (string, error) {
		var s panel.PHPSettings
		if err := json.Unmarshal(content, &s); err != nil {
			return "", err
		}
		text, err := json.MarshalIndent(s, "", "  ")
		return string(text) + "\n", err
	}
	was, err := readable(before.content)
	if err != nil {
		return p, err
	}
	will, err := readable(content)
	if err != nil {
		return p, err
	}
	p.changes = []change{{
		kind: php, path: phpPath, before: before.hash, after: hashOf(content), diff: diffOf(&redact.Masker{}, phpPath, was, will),
	}}
	p.contents = [][]byte{before.content, content}
	return p, nil
}

// lookPHP returns the settings of PHP as something that the journal can hold.
func (p project) lookPHP(ctx context.Context) (thing, error) {
	now, err := p.PHP.Settings(ctx, p.accountID, p.serviceID)
	if err != nil {
		return thing{}, answered(err)
	}
	content, err := json.Marshal(now)
	return thing{hash: hashOf(content), content: content, size: int64(len(content))}, err
}

// applyPHP makes a change of the settings of PHP: from those that are there, which were judged, to content.
func (p project) applyPHP(ctx context.Context, at thing, content []byte) (changeStatus, error) {
	var before, after panel.PHPSettings
	if err := json.Unmarshal(at.content, &before); err != nil {
		return "", err
	}
	if err := json.Unmarshal(content, &after); err != nil {
		return "", err
	}
	replaced, err := p.PHP.Replace(ctx, p.accountID, p.serviceID, before, after)
	switch {
	case err != nil:
		if _, ok := refusalOf(answered(err)); ok {
			return failed, nil
		}
		return "", err
	case !replaced:
		return conflict, nil
	}
	return applied, nil
}
