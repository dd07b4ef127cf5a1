package php

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// row is what should be of a service.
type row struct {
	site.Item
	panel.PHPSettings
}

// PanelName implements site.Row: a service has one.
func (row) PanelName() string { return only }

// only is the name of what a service has one of.
const only = "php"

// stored tells whether something was set: the row is in the table then.
func (r row) stored() bool { return r.ID != 0 }

// offer is what a panel was seen to have.
type offer struct {
	versions   []string
	extensions map[string][]panel.PHPExtension // by version; the states are those of no account
}

// extension is a wish about an extension.
type extension struct {
	name    string
	enabled bool
}

// change is what a request wants; nil leaves as it is.
type change struct {
	version    *string
	options    map[string]json.RawMessage // null: back to the default
	extensions []extension
}

// with is the settings after a change. most is the plan's memory in mebibytes; zero is no limit.
func (r row) with(c change, o offer, known bool, most int64) (row, error) {
	s := r.PHPSettings
	if c.version != nil {
		if known && !slices.Contains(o.versions, *c.version) {
			return r, ErrVersion.With(fault.Fields{"available": o.versions})
		}
		s.Version = *c.version
	}
	s.Options = maps.Clone(s.Options)
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(c.options)) {
		option, ok := panel.FindPHPOption(name)
		if !ok {
			return r, fault.Invalid("options", "php_option")
		}
		if string(c.options[name]) == "null" {
			delete(s.Options, name)
			continue
		}
		text, err := textOf(c.options[name])
		if err == nil {
			text, err = option.Canonical(text, most)
		}
		if err != nil {
			return r, outOfRange(option, most)
		}
		s.Options[name] = text
	}
	for _, e := range c.extensions {
		var err error
		if s.Extensions, err = switched(s, e, o, known); err != nil {
			return r, err
		}
	}
	s, err := s.Canonical()
	if err != nil {
		return r, ErrVersion.Wrap(err) // options and extensions were judged above
	}
	r.PHPSettings = s
	return r, nil
}

// switched are the extensions after one was switched on or off.
func switched(s panel.PHPSettings, e extension, o offer, known bool) ([]string, error) {
	state := panel.PHPDisabled
	if all, seen := o.extensions[cmp.Or(s.Version, newest(o.versions))]; known && seen {
		i := slices.IndexFunc(all, func(x panel.PHPExtension) bool { return x.Name == e.name })
		if i < 0 {
			return nil, fault.Invalid("extensions", "php_extension")
		}
		state = all[i].State
	}
	switch {
	case state == panel.PHPBuiltIn && !e.enabled:
		return nil, fault.Invalid("extensions", "php_extension_built_in")
	case state == panel.PHPBuiltIn:
		return s.Extensions, nil
	case e.enabled && !slices.Contains(s.Extensions, e.name):
		return append(slices.Clone(s.Extensions), e.name), nil
	case !e.enabled:
		return slices.DeleteFunc(slices.Clone(s.Extensions), func(name string) bool { return name == e.name }), nil
	default:
		return s.Extensions, nil
	}
}

func newest(versions []string) string {
	if len(versions) == 0 {
		return ""
	}
	return slices.MaxFunc(versions, panel.ComparePHPVersions)
}

// textOf is a value of a request as PHP writes it.
func textOf(raw json.RawMessage) (string, error) {
	var value any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return "", err
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case json.Number:
		return v.String(), nil
	default:
		return "", errors.New("no value")
	}
}

func outOfRange(o panel.PHPOption, most int64) error {
	fields := fault.Fields{"option": o.Name}
	if low, high, ok := bounds(o, most); ok {
		fields["minimum"], fields["maximum"] = low, high
	} else if o.Type == panel.PHPChoice {
		fields["values"] = o.Values
	}
	return ErrRange.With(fields)
}

// bounds are the least and the greatest value of an option that has them, as the interface shows values.
func bounds(o panel.PHPOption, most int64) (low, high any, ok bool) {
	switch o.Type {
	case panel.PHPInteger:
		return o.Min, o.Max, true
	case panel.PHPSize:
		highest := o.Max
		if most > 0 {
			highest = min(highest, max(most, o.Min))
		}
		return fmt.Sprintf("%dM", o.Min), fmt.Sprintf("%dM", highest), true
	default:
		return nil, nil, false
	}
}

// valueOf is a value in canonical form as the interface shows it.
func valueOf(o panel.PHPOption, text string) any {
	switch o.Type {
	case panel.PHPInteger:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case panel.PHPBoolean:
		return text == "1"
	}
	return text
}

// conflict is options that contradict each other; text is its key in the catalogue.
type conflict struct {
	options []string
	text    string
}

// conflicts are what settings say that cannot all come true.
func conflicts(s panel.PHPSettings) []conflict {
	size := func(name string) int64 {
		o, _ := panel.FindPHPOption(name)
		return o.Mebibytes(s.Option(name))
	}
	var all []conflict
	if size("upload_max_filesize") > size("post_max_size") {
		all = append(all, conflict{[]string{"upload_max_filesize", "post_max_size"}, "upload_exceeds_post"})
	}
	if size("post_max_size") > size("memory_limit") {
		all = append(all, conflict{[]string{"post_max_size", "memory_limit"}, "post_exceeds_memory"})
	}
	return all
}

// supported tells whether the makers of PHP mend a version's security.
func supported(version string, now time.Time) (until *string, ok bool) {
	end, known := panel.PHPEndOfLife(version)
	if !known {
		return nil, true // newer than this program
	}
	day := end.Format(time.DateOnly)
	return &day, now.Before(end.AddDate(0, 0, 1))
}

// same tells whether a panel has settings as they are wished.
func same(have, wish panel.PHPSettings) bool {
	return (wish.Version == "" || have.Version == wish.Version) && maps.Equal(have.Options, wish.Options) &&
		slices.Equal(have.Extensions, wish.Extensions)
}
