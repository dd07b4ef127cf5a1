package main

import (
	"errors"
	"fmt"

	"stead.dev/stead/internal/app"
	"stead.dev/stead/internal/platform/secret"
)

// keyCmd administers the key that seals stored secrets.
type keyCmd struct {
	Rotate keyRotate `cmd:"" help:"Add a fresh key to the key file, for what is sealed from the next start on; what is stored stays readable."`
}

type keyRotate struct{}

// Run adds a fresh key to the key file.
func (*keyRotate) Run(e *environment) error {
	cfg, err := e.load(nil)
	if err != nil {
		return err
	}
	if cfg.SecretKey != "" {
		return usageError{errors.New("the key is the setting secret_key: run this without it where the key file lies, and give all servers the new content")}
	}
	file := app.KeyFile(cfg)
	if _, err := secret.Rotate(file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "%s has a fresh key. Restart the server now, because it cannot read what others seal with it, and back the file up.\n", file)
	return err
}
