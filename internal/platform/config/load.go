package config

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const (
	envPrefix  = "STEAD_"
	envFile    = "STEAD_CONFIG" // names the configuration file
	fileSuffix = "_file"        // of the setting that names the file of a secret
)

// Input is where Load reads from.
type Input struct {
	File        string            // configuration file of --config; without it, the one STEAD_CONFIG names, if any
	Environ     []string          // os.Environ()
	CommandLine map[string]string // settings given as flags, by name: {"demo": "true"}
}

// Load reads and validates the configuration. Its error lists every problem, one a line, and names no secret.
func Load(in Input) (*Config, error) {
	c := &Config{sources: map[string]Source{}}
	l := &loader{settings: settingsOf(c), sources: c.sources}

	l.defaults()
	environ := l.environment(in.Environ)
	path := in.File
	if path == "" {
		path = environ[envFile]
	}
	if path != "" {
		l.apply(FromFile, l.file(path), func(name string) string { return name + " in " + path })
	}
	delete(environ, envFile)
	l.apply(FromEnvironment, environ, envName)
	l.apply(FromCommandLine, maps.Clone(in.CommandLine), flagName)

	if len(l.problems) == 0 { // validate would check the default in place of a value that could not be read
		l.problems = c.validate()
	}
	if len(l.problems) > 0 {
		return nil, errors.Join(l.problems...)
	}
	c.derive()
	return c, nil
}

// setting is one field of Config with its tags.
type setting struct {
	name, byDefault, doc string
	min, max             string
	value                reflect.Value
}

// settingsOf lists the settings of c in the order of the struct.
func settingsOf(c *Config) []setting {
	value := reflect.ValueOf(c).Elem()
	var settings []setting
	for i := range value.NumField() {
		tag := value.Type().Field(i).Tag
		if name, ok := tag.Lookup("setting"); ok {
			settings = append(settings, setting{
				name: name, byDefault: tag.Get("default"), doc: tag.Get("doc"),
				min: tag.Get("min"), max: tag.Get("max"), value: value.Field(i),
			})
		}
	}
	return settings
}

func (s setting) secret() bool {
	_, ok := s.value.Interface().(Secret)
	return ok
}

func envName(name string) string { return envPrefix + strings.ToUpper(name) }

func flagName(name string) string { return "--" + strings.ReplaceAll(name, "_", "-") }

// loader fills settings and collects problems.
type loader struct {
	settings []setting
	sources  map[string]Source
	problems []error
}

func (l *loader) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Errorf(format, args...))
}

func (l *loader) defaults() {
	for _, s := range l.settings {
		l.sources[s.name] = FromDefault
		if s.byDefault == "" {
			continue
		}
		if err := s.set(s.byDefault); err != nil {
			panic(fmt.Sprintf("config: default of %s: %v", s.name, err)) // a mistake in the struct; its test fails
		}
	}
}

// environment selects Stead's variables, keyed by setting name, and STEAD_CONFIG under its own. An empty variable
// counts as unset: composition files write VARIABLE=${VARIABLE}.
func (l *loader) environment(environ []string) map[string]string {
	found := map[string]string{}
	for _, entry := range environ {
		key, value, _ := strings.Cut(entry, "=")
		switch {
		case !strings.HasPrefix(key, envPrefix) || value == "" || foreign(key):
		case key == envFile:
			found[envFile] = value
		default:
			found[strings.ToLower(strings.TrimPrefix(key, envPrefix))] = value
		}
	}
	return found
}

// foreign reports whether a variable with our prefix is not a setting: those of the tests, and those that Kubernetes
// sets in every container for a Service called "stead".
func foreign(key string) bool {
	return key == "STEAD_PORT" || slices.ContainsFunc([]string{"STEAD_TEST_", "STEAD_PORT_", "STEAD_SERVICE_"},
		func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// file reads a YAML file of name: value. A list is joined with commas, the form it has in a variable.
func (l *loader) file(path string) map[string]string {
	content, err := os.ReadFile(path)
	if err != nil {
		l.problem("configuration file: %w", err)
		return nil
	}
	var nodes map[string]yaml.Node
	if err := yaml.Unmarshal(content, &nodes); err != nil {
		l.problem("%s: %w", path, err)
		return nil
	}
	values := map[string]string{}
	for name, node := range nodes {
		text, ok := scalar(&node)
		if !ok {
			l.problem("%s in %s: want a single value or a list of values", name, path)
			continue
		}
		values[name] = text
	}
	return values
}

func scalar(node *yaml.Node) (string, bool) {
	switch node.Kind {
	case yaml.ScalarNode:
		if node.Tag == "!!null" {
			return "", true
		}
		return node.Value, true
	case yaml.AliasNode:
		return scalar(node.Alias)
	case yaml.SequenceNode:
		parts := make([]string, 0, len(node.Content))
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode {
				return "", false
			}
			parts = append(parts, item.Value)
		}
		return strings.Join(parts, ","), true
	default:
		return "", false
	}
}

// apply sets the values of one source and removes them from values. label names a setting as this source does.
func (l *loader) apply(source Source, values map[string]string, label func(name string) string) {
	for _, s := range l.settings {
		text, given := values[s.name]
		delete(values, s.name)
		if s.secret() {
			path, inFile := values[s.name+fileSuffix]
			delete(values, s.name+fileSuffix)
			if given && inFile {
				l.problem("%s and %s are both set: choose one", label(s.name), label(s.name+fileSuffix))
				continue
			}
			if inFile {
				content, err := os.ReadFile(path)
				if err != nil {
					l.problem("%s: %w", label(s.name+fileSuffix), err)
					continue
				}
				text, given = strings.TrimSpace(string(content)), true
				if text == "" { // an unset database_url, say, would be a database of its own that is lost with the container
					l.problem("%s: %s is empty", label(s.name+fileSuffix), path)
					continue
				}
			}
		}
		if !given {
			continue
		}
		if err := s.set(text); err != nil {
			l.problem("%s: %w", label(s.name), err)
			continue
		}
		l.sources[s.name] = source
	}
	l.unknown(values, label)
}

// unknown reports the remaining names: a misspelt setting would otherwise silently have no effect.
func (l *loader) unknown(values map[string]string, label func(name string) string) {
	names := make([]string, 0, len(l.settings))
	for _, s := range l.settings {
		names = append(names, s.name)
		if s.secret() {
			names = append(names, s.name+fileSuffix)
		}
	}
	left := make([]string, 0, len(values))
	for name := range values {
		left = append(left, name)
	}
	slices.Sort(left)
	for _, name := range left {
		if near := nearest(name, names); near != "" {
			l.problem("%s: no such setting; did you mean %s?", label(name), label(near))
		} else {
			l.problem("%s: no such setting; `stead config` lists them", label(name))
		}
	}
}

// set reads text into the field. Its errors do not quote the text of a Secret.
func (s setting) set(text string) error {
	switch field := s.value.Addr().Interface().(type) {
	case *string:
		*field = text
	case *Secret:
		*field = Secret(text)
	case *bool:
		value, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		*field = value
	case *int:
		value, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		*field = value
		return s.bounded(int64(value))
	case *Size:
		if err := field.UnmarshalText([]byte(text)); err != nil {
			return err
		}
		return s.bounded(int64(*field))
	case *time.Duration:
		value, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 30s, 15m or 360h", text)
		}
		*field = value
	case *slog.Level:
		if err := field.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("%q is not one of debug, info, warn and error", text)
		}
	case *[]netip.Prefix:
		prefixes, err := parsePrefixes(text)
		if err != nil {
			return err
		}
		*field = prefixes
	case *[]string:
		*field = list(text)
	case *[]netip.AddrPort:
		addresses, err := parseAddresses(text)
		if err != nil {
			return err
		}
		*field = addresses
	default:
		return fmt.Errorf("settings of type %s are not supported", s.value.Type())
	}
	return nil
}

func (s setting) bounded(value int64) error {
	if low, err := strconv.ParseInt(s.min, 10, 64); err == nil && value < low {
		return fmt.Errorf("%d is less than the minimum of %d", value, low)
	}
	if high, err := strconv.ParseInt(s.max, 10, 64); err == nil && value > high {
		return fmt.Errorf("%d is more than the maximum of %d", value, high)
	}
	return nil
}

// list splits text at commas.
func list(text string) []string {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// parseAddresses reads addresses with ports, separated by commas.
func parseAddresses(text string) ([]netip.AddrPort, error) {
	var addresses []netip.AddrPort
	for _, part := range list(text) {
		address, err := netip.ParseAddrPort(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not an address with a port such as 192.0.2.53:53", part)
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}

// parsePrefixes reads networks and single addresses, separated by commas.
func parsePrefixes(text string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, part := range list(text) {
		if address, err := netip.ParseAddr(part); err == nil {
			prefixes = append(prefixes, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not a network such as 10.0.0.0/8", part)
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}

// nearest returns the name that the fewest edits turn into the given one, or "" when none is close.
func nearest(name string, names []string) string {
	best, distance := "", len(name)/2+1
	for _, candidate := range names {
		if d := edits(name, candidate); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// edits is the Levenshtein distance of two names.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
