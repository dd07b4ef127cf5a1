//go:build !linux

package doctor

func kernelClock() (synchronized, known bool) { return false, false }
