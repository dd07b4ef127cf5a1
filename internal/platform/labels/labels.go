// Package labels reads and compares the labels by which operators tell hosting machines apart, such as disk=nvme. A label without
// a value is a plain tag.
package labels

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Set has the labels of a machine, or those that are asked of one, by their keys.
type Set map[string]string

// Most is how many labels a machine has at most.
const Most = 32

// The forms of keys and values, as Kubernetes knows them.
var (
	keyForm   = regexp.MustCompile(`^[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?$`)
	valueForm = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$`)
)

// Parse reads labels as people write them: key=value, or a key alone.
func Parse(texts []string) (Set, error) {
	set := Set{}
	for _, text := range texts {
		key, value, _ := strings.Cut(text, "=")
		if before, twice := set[key]; twice && before != value {
			return nil, fmt.Errorf("%s has two values", key)
		}
		set[key] = value
	}
	return set, set.Check()
}

// Check says what is wrong with labels; nil: nothing.
func (s Set) Check() error {
	if len(s) > Most {
		return fmt.Errorf("there are more than %d labels", Most)
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if !keyForm.MatchString(key) || !valueForm.MatchString(s[key]) {
			return fmt.Errorf("%q is not a label such as disk=nvme or gpu", One(key, s[key]))
		}
	}
	return nil
}

// One writes a label as people do.
func One(key, value string) string {
	if value == "" {
		return key
	}
	return key + "=" + value
}

// List writes labels as people do, in the order of their keys.
func (s Set) List() []string {
	all := make([]string, 0, len(s))
	for _, key := range slices.Sorted(maps.Keys(s)) {
		all = append(all, One(key, s[key]))
	}
	return all
}

// String writes them in one line.
func (s Set) String() string { return strings.Join(s.List(), ", ") }

// Lacking lists those of the wanted labels that are not among these.
func (s Set) Lacking(wanted Set) Set {
	lacking := Set{}
	for key, value := range wanted {
		if has, ok := s[key]; !ok || has != value {
			lacking[key] = value
		}
	}
	return lacking
}

// With answers these labels with others set and some keys removed.
func (s Set) With(set Set, remove []string) Set {
	all := Set{}
	maps.Copy(all, s)
	for _, key := range remove {
		delete(all, key)
	}
	maps.Copy(all, set)
	return all
}
