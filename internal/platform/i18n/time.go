package i18n

import "time"

// Minute is a time as people are shown it, in mails and on pages: to the minute, in UTC.
func Minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }
