package nodelink

import "time"

// Paths of the control plane's address for nodes.
const (
	JoinPath   = "/v1/join"
	RenewPath  = "/v1/renew"
	ReportPath = "/v1/report"
)

// Join asks to become a node.
type Join struct {
	Secret  string `json:"secret"`  // of the token
	Request []byte `json:"request"` // to certify the node's key
	Address string `json:"address"` // host and port where the agent can be called
	Version string `json:"version"` // of the agent
}

// Joined is the answer to Join.
type Joined struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Location    string `json:"location"`
	Certificate []byte `json:"certificate"`
	Authority   []byte `json:"authority"`
}

// Renew asks for a further certificate.
type Renew struct {
	Request []byte `json:"request"`
}

// Renewed is the answer to Renew.
type Renewed struct {
	Certificate []byte    `json:"certificate"`
	NotAfter    time.Time `json:"not_after"`
}

// Capacity is the size of a machine, and how much of it is in use.
type Capacity struct {
	DiskMB       int64   `json:"disk_mb"` // of the file system of the homes
	DiskFreeMB   int64   `json:"disk_free_mb"`
	MemoryMB     int64   `json:"memory_mb"`
	MemoryFreeMB int64   `json:"memory_free_mb"`
	CPUs         int     `json:"cpus"`
	Load         float64 `json:"load"` // mean of the last minute
	Accounts     int     `json:"accounts"`
}

// Report is a node's periodic report.
type Report struct {
	Version      string   `json:"version"`
	Address      string   `json:"address"`
	Capabilities []string `json:"capabilities"`
	Capacity     Capacity `json:"capacity"`
}

// ReportEvery is the pause between reports; after SilentAfter without one a node counts as offline.
const (
	ReportEvery = 30 * time.Second
	SilentAfter = 100 * time.Second
)
