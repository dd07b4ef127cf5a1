package outgoing

// Judge asks what the dialer asks of an address that a name was resolved to.
func Judge(c *Client, address string) error { return c.guard.Control("tcp", address, nil) }
