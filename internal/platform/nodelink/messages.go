package nodelink

import (
	"encoding/json"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/probe"
)

// Paths of the control plane's address for nodes.
const (
	JoinPath   = "/v1/join"
	RenewPath  = "/v1/renew"
	ReportPath = "/v1/report"
	// LeftPath answers what the answer to a report does, to a machine that starts and has nothing to report yet.
	LeftPath = "/v1/left"
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
	// MailQueue is the number of messages that wait to be delivered; nil where the machine has no mail.
	MailQueue *int64 `json:"mail_queue,omitempty"`
}

// Report is a node's periodic report.
type Report struct {
	Version      string   `json:"version"`
	Address      string   `json:"address"`
	Capabilities []string `json:"capabilities"`
	Capacity     Capacity `json:"capacity"`
}

// Reported is the answer to Report.
type Reported struct {
	// Left are accounts that the node may still have, though another machine has them since.
	Left []LeftAccount `json:"left,omitempty"`
}

// LeftAccount is an account that has left a node, and the epoch since which another machine has it.
type LeftAccount struct {
	Ref   string `json:"ref"`
	Epoch int64  `json:"epoch"`
}

// MostReportedSize bounds the answer to a report, in bytes: more than all accounts of a machine take.
const MostReportedSize = 8 << 20

// ReportEvery is the pause between reports; after SilentAfter without one a node counts as offline.
const (
	ReportEvery = 30 * time.Second
	SilentAfter = 100 * time.Second
)

// ChecksPath is where a node delivers the results of checks of monitors, and hears what to check.
const ChecksPath = "/v1/checks"

// Bounds of these messages.
const (
	MostResults   = 1000    // in one message
	MostCheckSize = 1 << 20 // of one message, in bytes
	MostWorkSize  = 8 << 20 // of one answer, in bytes; one part more may follow
	// CheckParts are the parts that the list of a node is in.
	CheckParts = 64
	// ResultsFor is how long a node keeps results that it cannot deliver; older ones are refused.
	ResultsFor = 5 * time.Minute
	// LeastApart is the least time between two checks of a monitor by a node; results that are closer are dropped.
	LeastApart = 5 * time.Second
)

// CheckEvery is the mean pause between two messages about checks.
const CheckEvery = 5 * time.Second

// Checks are the results of a node, and how much of its list it has.
type Checks struct {
	// Versions are those of the parts of the list; empty: the node has none of it.
	Versions []string `json:"versions,omitempty"`
	// Since is Now of the last answer.
	Since   time.Time     `json:"since,omitzero"`
	Results []CheckResult `json:"results,omitempty"`
	// Of the monitors that were checked in the last minutes, how many failed.
	Failing int `json:"failing"`
	Checked int `json:"checked"`
}

// CheckResult is a check that a node made. Its times are those of the control plane's clock.
type CheckResult struct {
	ID          int64        `json:"id"`
	Revision    string       `json:"revision"` // of the task
	ScheduledAt time.Time    `json:"scheduled_at"`
	CheckedAt   time.Time    `json:"checked_at"`
	Result      probe.Result `json:"result"`
}

// Work is what a node is to check.
type Work struct {
	// Now is the control plane's time.
	Now time.Time `json:"now"`
	// Idle: the node checks nothing, because it is switched off or because another node of its region does. It forgets its
	// list.
	Idle bool `json:"idle,omitempty"`
	// Parts are those that differ from what the node has.
	Parts []WorkPart `json:"parts,omitempty"`
	// More parts follow with the next answer.
	More bool `json:"more,omitempty"`
	// Asked are monitors that another region has found changed: they are checked at once.
	Asked []int64 `json:"asked,omitempty"`
}

// WorkPart is a part of the list, whole.
type WorkPart struct {
	Part    int             `json:"part"`
	Version string          `json:"version"`
	Tasks   json.RawMessage `json:"tasks"` // a list of Task
}

// Task is something that a node checks again and again.
type Task struct {
	ID             int64        `json:"id"`
	Revision       string       `json:"revision"`
	Target         probe.Target `json:"target"`
	Header         http.Header  `json:"header,omitempty"` // only where the owner of the monitor chose regions
	IntervalS      int          `json:"interval_s"`
	Retries        int          `json:"retries"`
	RetryIntervalS int          `json:"retry_interval_s"`
}
