// Package node is the panel adapter for a node of this project that runs in the same process.
package node

import (
	"slices"

	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/port/panel"
)

// Panel is a node behind the port. A node implements the port's interfaces, so nothing is translated: accounts, usage
// and sites are the node's methods, files and archives those of its files, and the rest are its facilities, nil when
// the machine does not have them.
type Panel struct {
	*node.Node
	panel.Files
	panel.Archives
	panel.Deploys
	panel.Certificates
	panel.Backups
	panel.Handover
	panel.PHP
	panel.Logs
	panel.FTP
	panel.Shell
	panel.Terminal
	panel.Databases
	panel.Adminer
	panel.Cron
	panel.Mail
}

var (
	_ panel.Panel     = Panel{}
	_ panel.Selective = Panel{}
	_ panel.Accounts  = Panel{}
	_ panel.Usages    = Panel{}
	_ panel.Sites     = Panel{}
	_ panel.Files     = Panel{}
	_ panel.Archives  = Panel{}
	_ panel.Deploys   = Panel{}

	_ panel.Interpreters = Panel{}

	_ panel.Certificates = Panel{}
	_ panel.Backups      = Panel{}
	_ panel.Handover     = Panel{}
	_ panel.Moving       = Panel{}
	_ panel.Inventory    = Panel{}
	_ panel.PHP          = Panel{}
	_ panel.Logs         = Panel{}
	_ panel.FTP          = Panel{}
	_ panel.Shell        = Panel{}
	_ panel.Terminal     = Panel{}
	_ panel.Databases    = Panel{}
	_ panel.Adminer      = Panel{}
	_ panel.Cron         = Panel{}
	_ panel.Mail         = Panel{}
)

// New is the adapter for n; its owner still closes n.
func New(n *node.Node) Panel {
	return Panel{
		Node: n, Files: n.Files, Archives: n.Files, Deploys: n.Files,
		Certificates: facilityOf[panel.Certificates](n, panel.CapCertificates),
		Backups:      facilityOf[panel.Backups](n, panel.CapBackups),
		Handover:     facilityOf[panel.Handover](n, panel.CapBackups),
		PHP:          facilityOf[panel.PHP](n, panel.CapPHP),
		Logs:         facilityOf[panel.Logs](n, panel.CapLogs),
		FTP:          facilityOf[panel.FTP](n, panel.CapFTP),
		Shell:        facilityOf[panel.Shell](n, panel.CapShell),
		Terminal:     facilityOf[panel.Terminal](n, panel.CapTerminal),
		Databases:    facilityOf[panel.Databases](n, panel.CapDatabases),
		Adminer:      facilityOf[panel.Adminer](n, panel.CapAdminer),
		Cron:         facilityOf[panel.Cron](n, panel.CapCron),
		Mail:         facilityOf[panel.Mail](n, panel.CapMail),
	}
}

// facilityOf is the part of n that is the capability c; nil when it has none. Each capability beyond
// the always takes a line in Panel and one in New: Databases: facilityOf[panel.Databases](n, panel.CapDatabases).
func facilityOf[C any](n *node.Node, c panel.Capability) C {
	part, _ := n.Facility(c).(C)
	return part
}

// Name implements panel.Panel.
func (Panel) Name() string { return "node" }

// PHPVersions implements panel.Interpreters.
func (p Panel) PHPVersions() []string { return panel.PHPVersionsOf(p.PHP) }

// always are the capabilities that every machine has.
var always = []panel.Capability{
	panel.CapAccounts, panel.CapUsage, panel.CapSites, panel.CapFiles, panel.CapArchives, panel.CapDeploys, panel.CapMoving,
	panel.CapInventory,
}

// Can implements panel.Selective.
func (p Panel) Can(c panel.Capability) bool {
	if c == panel.CapHandover || c == panel.CapMovedLogs { // of the backups
		return p.Handover != nil
	}
	return slices.Contains(always, c) || (p.Node != nil && p.Facility(c) != nil)
}
