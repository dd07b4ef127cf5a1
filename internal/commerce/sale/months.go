package sale

import "time"

// AddMonths goes n calendar months on. A day that the month does not have is its
// last one: a month after 31 January is 28 or 29 February.
func AddMonths(t time.Time, n int) time.Time {
	year, month, day := t.Date()
	last := time.Date(year, month+time.Month(n)+1, 0, 0, 0, 0, 0, t.Location()).Day()
	hour, minute, second := t.Clock()
	return time.Date(year, month+time.Month(n), min(day, last), hour, minute, second, t.Nanosecond(), t.Location())
}
