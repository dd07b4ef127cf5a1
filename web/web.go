// Package web embeds what is built for browsers from the folders beside it: dist is committed, so that
// building and running Stead needs Go and nothing else.
package web

import "embed"

// Dist has the built files. LICENSES.txt among them holds the licences of what was built in.
//
//go:embed dist
var Dist embed.FS
