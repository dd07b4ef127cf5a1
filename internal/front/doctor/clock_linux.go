package doctor

import "golang.org/x/sys/unix"

// kernelClock asks the kernel whether its clock is synchronized.
func kernelClock() (synchronized, known bool) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return false, false
	}
	return state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, true
}
