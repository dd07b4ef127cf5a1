package php

import (
	"errors"
	"os/exec"
	"strconv"
	"syscall"

	"stead.dev/stead/internal/node/accounts"
)

// signalAs signals a process as the account's user.
func signalAs(a accounts.Account, pid int) error {
	cmd := exec.Command("/bin/kill", "-TERM", strconv.Itoa(pid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.User.UID), Gid: uint32(a.User.GID)}}
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return errors.Join(syscall.EPERM, errors.New(string(out)))
	}
	return err
}
