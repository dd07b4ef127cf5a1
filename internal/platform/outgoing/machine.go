package outgoing

import (
	"net/netip"
	"syscall"
)

// Machine decides where a hosting machine may be called that names its addresses itself: it may be in the hands of somebody else.
// Private networks are where machines are, but the loopback addresses of who calls, and link-local ones such as the metadata service of
// a cloud, are no machine's.
type Machine struct {
	// Local accepts loopback addresses: the machine is this one.
	Local bool
}

// Allows reports whether an address may be called.
func (m Machine) Allows(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsValid() && (m.Local || !a.IsLoopback()) && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLinkLocalUnicast()
}

// Control is that of a net.Dialer, as Guard.Control.
func (m Machine) Control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !m.Allows(to.Addr()) {
		return ErrTarget
	}
	return nil
}
