package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"stead.dev/stead/internal/port/panel"
)

// Program describes a program that a node is to run in the place of its own.
type Program struct {
	Version  string `json:"version"`
	Platform string `json:"platform"` // such as linux/amd64
	Size     int64  `json:"size"`
	SHA256   string `json:"sha256"` // in hexadecimal digits
}

// Why a node refuses a program, beside the kinds of the port.
const (
	ErrUpgradeOff      panel.Kind = "upgrade_off"       // its operator has not allowed it there
	ErrUpgradePackaged panel.Kind = "upgrade_packaged"  // a package owns the program, or its folder cannot be written
	ErrUpgradePlatform panel.Kind = "upgrade_platform"  // the program is for another operating system or processor
	ErrUpgradeNotNewer panel.Kind = "upgrade_not_newer" // the node's program is as new, or the order of the two is not known
	ErrUpgradeBroken   panel.Kind = "upgrade_broken"    // the program did not arrive whole, or does not start there
)

const upgradeOp = "upgrade"

// Upgradable answers like next, and has take exchange the node's program for one that is sent. take reads the content of the program
// from src.
func Upgradable(next http.Handler, version string, take func(ctx context.Context, p Program, src io.Reader) error) http.Handler {
	h := handler{version: version}
	mux := http.NewServeMux()
	mux.Handle("/", next)
	mux.HandleFunc("POST /"+Version+"/"+upgradeOp, func(w http.ResponseWriter, r *http.Request) {
		var args []Program
		data, err := readFrame(r.Body, maxProgramDescription)
		if err == nil {
			err = json.Unmarshal(data, &args)
		}
		if err == nil && len(args) != 1 {
			err = errors.New("they describe one program")
		}
		if err != nil {
			err = fmt.Errorf("%w: arguments: %w", panel.ErrInvalid, err)
		} else {
			err = take(r.Context(), args[0], r.Body)
		}
		if err != nil {
			f := failureOf(err)
			f.Op = upgradeOp
			writeFailure(w, f)
			return
		}
		h.answer(w, struct{}{})
	})
	return mux
}

// maxProgramDescription is far more than any description of a program has.
const maxProgramDescription = 64 << 10

// Upgrade sends the node a program. The node exchanges its own for it, and is then away for a moment. ErrUnsupported: the node is of a
// release that cannot do so.
func (p *Panel) Upgrade(ctx context.Context, program Program, content io.Reader) error {
	return uploadOnly(ctx, p, upgradeOp, content, program)
}
