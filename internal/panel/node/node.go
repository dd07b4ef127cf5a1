// Package node is the panel adapter for a node of this project that runs in the same process.
package node

import (
	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/node/files"
	"stead.dev/stead/internal/panel"
)

// Panel is a node behind the port. A node speaks the port's own language, so there is nothing to
// translate: accounts, usage and sites are the node's methods, files and archives those of its files.
type Panel struct {
	*node.Node
	*files.Driver
}

var (
	_ panel.Panel    = Panel{}
	_ panel.Accounts = Panel{}
	_ panel.Usages   = Panel{}
	_ panel.Sites    = Panel{}
	_ panel.Files    = Panel{}
	_ panel.Archives = Panel{}
)

// New is the adapter for n; closing n remains its owner's.
func New(n *node.Node) Panel { return Panel{Node: n, Driver: n.Files} }

// Name implements panel.Panel.
func (Panel) Name() string { return "node" }
