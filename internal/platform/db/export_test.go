package db

// Waiting is how many transactions wait for the one of the key that is under way.
func (g *Group) Waiting(key int64) int {
	l := &g.lanes[uint64(key)%groupLanes]
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
