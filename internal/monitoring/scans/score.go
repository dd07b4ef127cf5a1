package scans

// The highest scores that a site can have with a failure of a severity.
const (
	mostWithCritical = 24
	mostWithHigh     = 64
)

// score is 100 less what the findings take off, at least 0.
func score(findings []Finding) int {
	points, most := 100, 100
	for _, f := range findings {
		if !f.Open() {
			continue
		}
		points -= f.Points
		switch {
		case f.Outcome == Fail && f.Severity == Critical:
			most = min(most, mostWithCritical)
		case f.Outcome == Fail && f.Severity == High:
			most = min(most, mostWithHigh)
		}
	}
	return max(0, min(points, most))
}

var grades = []struct {
	least int
	grade string
}{
	{100, "A+"},
	{90, "A"},
	{85, "A-"},
	{80, "B+"},
	{70, "B"},
	{65, "B-"},
	{60, "C+"},
	{50, "C"},
	{45, "C-"},
	{40, "D+"},
	{30, "D"},
	{25, "D-"},
	{0, "F"},
}

// grade is a score as a letter.
func grade(score int) string {
	for _, g := range grades {
		if score >= g.least {
			return g.grade
		}
	}
	return "F"
}

// summary counts the findings to mend by their severity.
type summary struct {
	Critical int `json:"critical"`
	High     int `json:"high"`
	Medium   int `json:"medium"`
	Low      int `json:"low"`
	Info     int `json:"info"`
}

func summarize(findings []Finding) (s summary) {
	for _, f := range findings {
		if !f.Open() {
			continue
		}
		switch f.Severity {
		case Critical:
			s.Critical++
		case High:
			s.High++
		case Medium:
			s.Medium++
		case Low:
			s.Low++
		default:
			s.Info++
		}
	}
	return s
}
