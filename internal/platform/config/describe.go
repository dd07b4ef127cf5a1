package config

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"
)

// Description is one setting as `stead config` shows it. Encoded as JSON it is the --json form.
type Description struct {
	Name    string `json:"name"`
	Env     string `json:"env"`
	Default string `json:"default"`
	Value   string `json:"value"`
	Source  Source `json:"source"`
	Secret  bool   `json:"secret"`
	Meaning string `json:"meaning"`
}

// Describe lists every setting with its present value, in the order of the struct. Secrets read set or unset.
func (c *Config) Describe() []Description {
	settings := settingsOf(c)
	descriptions := make([]Description, 0, len(settings))
	for _, s := range settings {
		descriptions = append(descriptions, Description{
			Name: s.name, Env: envName(s.name), Default: s.byDefault, Value: s.show(), Source: c.sources[s.name],
			Secret: s.secret(), Meaning: s.doc,
		})
	}
	return descriptions
}

func (s setting) show() string {
	if s.value.Kind() == reflect.Slice {
		parts := make([]string, s.value.Len())
		for i := range parts {
			parts[i] = fmt.Sprint(s.value.Index(i).Interface())
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(s.value.Interface())
}

// File is a configuration file with all settings that are not defaults, wherever they are from. It has the secrets.
func (c *Config) File() ([]byte, error) {
	file := &yaml.Node{Kind: yaml.MappingNode}
	for _, s := range settingsOf(c) {
		if c.sources[s.name] == FromDefault {
			continue
		}
		text := s.show()
		if secret, ok := s.value.Interface().(Secret); ok {
			text = secret.Reveal()
		}
		file.Content = append(file.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: s.name},
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text})
	}
	return yaml.Marshal(file)
}

// WriteTable writes descriptions as a table for people. The key of a setting in the file is its variable in lower
// case without STEAD_.
func WriteTable(w io.Writer, descriptions []Description) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "VARIABLE\tVALUE\tFROM\tDEFAULT\tMEANING") // tabwriter reports errors at Flush
	for _, d := range descriptions {
		variable := d.Env
		if d.Secret {
			variable += "[_FILE]"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", variable, orDash(d.Value), d.Source, orDash(d.Default), d.Meaning)
	}
	return table.Flush()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
