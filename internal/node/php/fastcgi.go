package php

import (
	"context"
	"io"

	"stead.dev/stead/internal/node/fastcgi"
)

// ask sends a request without a body to a FastCGI socket and returns its output, headers first. The driver uses it to
// ask its masters for their configuration; visitors come through the web server.
func ask(ctx context.Context, socket string, params map[string]string) ([]byte, error) {
	out, err := fastcgi.Ask(ctx, socket, params, nil)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	return io.ReadAll(out)
}
