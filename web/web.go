// Package web embeds what is built for browsers from the folder panel beside it: dist is committed, so that building and
// running Stead needs Go and nothing else.
package web

import "embed"

// Dist has the built files. panel/LICENSES.txt among them holds the licences of what was built in.
//
//go:embed dist
var Dist embed.FS
