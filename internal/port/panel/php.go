package panel

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CapPHP is PHP.
const CapPHP Capability = "php"

// PHPSettings is how the PHP programs of an account run.
type PHPSettings struct {
	Version string `json:"version"` // "8.2"; empty is the panel's own choice
	// Options that differ from their defaults, in canonical form: see PHPOption.
	Options map[string]string `json:"options,omitempty"`
	// Extensions that are switched on besides those that are always there, in order.
	Extensions []string `json:"extensions,omitempty"`
}

// PHPState is what a panel has for an account.
type PHPState struct {
	PHPSettings // Version is the one that runs
	// Versions are those that can be chosen, the oldest first.
	Versions []string `json:"versions"`
	// Choice are the extensions of each version, in order.
	Choice map[string][]PHPExtension `json:"choice"`
}

// PHPExtension is an extension of PHP and whether programs have it.
type PHPExtension struct {
	Name  string            `json:"name"`
	State PHPExtensionState `json:"state"`
}

// PHPExtensionState says whether programs have an extension.
type PHPExtensionState string

// The states of an extension. Only the enabled and the disabled can be changed.
const (
	PHPBuiltIn  PHPExtensionState = "built_in" // every program has it
	PHPEnabled  PHPExtensionState = "enabled"
	PHPDisabled PHPExtensionState = "disabled"
)

// PHP runs the programs of accounts.
type PHP interface {
	// PHPSettings answers what the account has.
	PHPSettings(ctx context.Context, ref string) (PHPState, error)
	// SetPHPSettings applies settings to the account's programs; running requests are completed. ErrUnsupported: the
	// panel does not have the version. ErrInvalid: an option is unknown or out of range, or an extension cannot be
	// switched on; nothing changes then.
	SetPHPSettings(ctx context.Context, ref string, s PHPSettings) (PHPState, error)
	// CheckPHP says what is wrong with the syntax of a program, as the version that the account has reads it; empty:
	// nothing. The program is not run. ErrUnsupported: the panel cannot tell.
	CheckPHP(ctx context.Context, ref string, source []byte) (message string, err error)
}

// PHPOptionType says what the value of an option is.
type PHPOptionType string

// The types of options.
const (
	PHPInteger  PHPOptionType = "integer"
	PHPSize     PHPOptionType = "size"     // mebibytes, written "128M"
	PHPBoolean  PHPOptionType = "boolean"  // "1" or "0"
	PHPChoice   PHPOptionType = "choice"   // one of Values
	PHPTimezone PHPOptionType = "timezone" // a name of the IANA database
)

// PHPOption is an option that customers may set, by the name that PHP gives it.
type PHPOption struct {
	Name     string
	Type     PHPOptionType
	Default  string
	Min, Max int64    // of integers and sizes, in mebibytes
	Values   []string // of choices
}

// phpOptions are the options that customers may set. All others (paths, functions, extensions, processes) belong to the
// machine.
var phpOptions = []PHPOption{
	{Name: "memory_limit", Type: PHPSize, Default: "256M", Min: 32, Max: 2048},
	{Name: "upload_max_filesize", Type: PHPSize, Default: "64M", Min: 1, Max: 512},
	{Name: "post_max_size", Type: PHPSize, Default: "64M", Min: 1, Max: 512},
	{Name: "max_file_uploads", Type: PHPInteger, Default: "20", Min: 1, Max: 200},
	{Name: "max_execution_time", Type: PHPInteger, Default: "60", Min: 1, Max: 600},
	{Name: "max_input_time", Type: PHPInteger, Default: "60", Min: 1, Max: 600},
	{Name: "max_input_vars", Type: PHPInteger, Default: "3000", Min: 100, Max: 100000},
	{Name: "display_errors", Type: PHPBoolean, Default: "0"},
	{Name: "log_errors", Type: PHPBoolean, Default: "1"},
	{Name: "error_reporting", Type: PHPChoice, Default: "production", Values: []string{"production", "all", "errors", "none"}},
	{Name: "short_open_tag", Type: PHPBoolean, Default: "0"},
	{Name: "allow_url_fopen", Type: PHPBoolean, Default: "1"},
	{Name: "output_buffering", Type: PHPInteger, Default: "4096", Min: 0, Max: 65536},
	{Name: "session.gc_maxlifetime", Type: PHPInteger, Default: "1440", Min: 60, Max: 2592000},
	{Name: "date.timezone", Type: PHPTimezone, Default: "UTC"},
}

// PHPOptions lists the options that customers may set, in the order in which they are shown.
func PHPOptions() []PHPOption { return slices.Clone(phpOptions) }

// FindPHPOption finds an option by its name.
func FindPHPOption(name string) (PHPOption, bool) {
	i := slices.IndexFunc(phpOptions, func(o PHPOption) bool { return o.Name == name })
	if i < 0 {
		return PHPOption{}, false
	}
	return phpOptions[i], true
}

var (
	phpSize     = regexp.MustCompile(`^([0-9]{1,6})([MmGg])$`)
	phpTimezone = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}$`)
)

// Canonical returns the value in the form for PHP, or ErrInvalid. most, when it is above zero, bounds sizes further, in
// mebibytes.
func (o PHPOption) Canonical(value string, most int64) (string, error) {
	bad := fmt.Errorf("%w: %s = %q", ErrInvalid, o.Name, value)
	highest := o.Max
	if o.Type == PHPSize && most > 0 {
		highest = min(highest, max(most, o.Min))
	}
	switch o.Type {
	case PHPInteger:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < o.Min || n > highest {
			return "", bad
		}
		return strconv.FormatInt(n, 10), nil
	case PHPSize:
		match := phpSize.FindStringSubmatch(value)
		if match == nil {
			return "", bad
		}
		n, err := strconv.ParseInt(match[1], 10, 64)
		if strings.EqualFold(match[2], "g") {
			n *= 1024
		}
		if err != nil || n < o.Min || n > highest {
			return "", bad
		}
		return strconv.FormatInt(n, 10) + "M", nil
	case PHPBoolean:
		switch value {
		case "1", "true", "on":
			return "1", nil
		case "0", "false", "off":
			return "0", nil
		}
		return "", bad
	case PHPChoice:
		if !slices.Contains(o.Values, value) {
			return "", bad
		}
		return value, nil
	case PHPTimezone:
		if !phpTimezone.MatchString(value) || value == "Local" {
			return "", bad
		}
		if _, err := time.LoadLocation(value); err != nil {
			return "", bad
		}
		return value, nil
	default:
		return "", bad
	}
}

// Mebibytes is the value of a size in canonical form.
func (o PHPOption) Mebibytes(value string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(value, "M"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

var (
	phpVersion   = regexp.MustCompile(`^[0-9]{1,2}\.[0-9]{1,2}$`)
	phpExtension = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
)

// Canonical returns the settings in the form in which they are stored and compared, or ErrInvalid: every option is
// known and within its range, and omitted when it has its default; extensions are sorted, without duplicates.
func (s PHPSettings) Canonical() (PHPSettings, error) {
	if s.Version != "" && !phpVersion.MatchString(s.Version) {
		return s, fmt.Errorf("%w: PHP %q", ErrInvalid, s.Version)
	}
	options := map[string]string{}
	for name, value := range s.Options {
		o, ok := FindPHPOption(name)
		if !ok {
			return s, fmt.Errorf("%w: option %q", ErrInvalid, name)
		}
		canonical, err := o.Canonical(value, 0)
		if err != nil {
			return s, err
		}
		if canonical != o.Default {
			options[name] = canonical
		}
	}
	if s.Options = options; len(options) == 0 {
		s.Options = nil
	}
	extensions := slices.Compact(slices.Sorted(slices.Values(s.Extensions)))
	for _, name := range extensions {
		if !phpExtension.MatchString(name) {
			return s, fmt.Errorf("%w: extension %q", ErrInvalid, name)
		}
	}
	if s.Extensions = extensions; len(extensions) == 0 {
		s.Extensions = nil
	}
	return s, nil
}

// Option is the value of an option.
func (s PHPSettings) Option(name string) string {
	if value, ok := s.Options[name]; ok {
		return value
	}
	o, _ := FindPHPOption(name)
	return o.Default
}

// ComparePHPVersions orders versions, "8.2" before "8.10".
func ComparePHPVersions(a, b string) int {
	number := func(s string) [2]int {
		major, minor, _ := strings.Cut(s, ".")
		x, errX := strconv.Atoi(major)
		y, errY := strconv.Atoi(minor)
		if errX != nil || errY != nil {
			return [2]int{}
		}
		return [2]int{x, y}
	}
	x, y := number(a), number(b)
	return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
}

// phpEnds are the ends of the security support of PHP's versions (php.net, Supported Versions); since 8.1 it ends with
// a year.
var phpEnds = map[string]string{
	"7.0": "2019-01-10", "7.1": "2019-12-01", "7.2": "2020-11-30", "7.3": "2021-12-06", "7.4": "2022-11-28", "8.0": "2023-11-26",
	"8.1": "2025-12-31", "8.2": "2026-12-31", "8.3": "2027-12-31", "8.4": "2028-12-31", "8.5": "2029-12-31",
}

// PHPEndOfLife returns the day on which the security support of a version ends; false when it is unknown.
func PHPEndOfLife(version string) (time.Time, bool) {
	at, err := time.Parse(time.DateOnly, phpEnds[version])
	return at, err == nil
}
