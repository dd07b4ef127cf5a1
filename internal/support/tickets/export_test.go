package tickets

// Address is the token of the address at which answers to a ticket arrive.
func (t Ticket) Address() string { return t.token }
