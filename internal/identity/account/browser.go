package account

import "strings"

// mark is a part of a user agent that gives away a program or a system.
type mark struct{ part, name string }

// browserMarks stand in the order in which they are looked for: most browsers also claim to be Chrome or Safari.
var browserMarks = []mark{
	{"Edg", "Edge"},
	{"OPR/", "Opera"},
	{"Opera", "Opera"},
	{"YaBrowser/", "Yandex Browser"},
	{"SamsungBrowser/", "Samsung Internet"},
	{"Vivaldi/", "Vivaldi"},
	{"Firefox/", "Firefox"},
	{"FxiOS/", "Firefox"},
	{"CriOS/", "Chrome"},
	{"Chrome/", "Chrome"},
	{"Chromium/", "Chromium"},
	{"Safari/", "Safari"},
	{"curl/", "curl"},
}

// systemMarks too: Android says that it is Linux, and iPhones that they are like Mac OS X.
var systemMarks = []mark{
	{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"CrOS", "ChromeOS"}, {"Macintosh", "macOS"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"},
}

// browserOf names the program and the system of a user agent; both are empty when it does not tell.
func browserOf(userAgent string) (browser, system string) {
	return firstMark(userAgent, browserMarks), firstMark(userAgent, systemMarks)
}

func firstMark(userAgent string, marks []mark) string {
	for _, m := range marks {
		if strings.Contains(userAgent, m.part) {
			return m.name
		}
	}
	return ""
}
