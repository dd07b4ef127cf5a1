package catalog

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/labels"
	"stead.dev/stead/internal/platform/yamlfile"
)

// Problems lists everything that is wrong with a file. It is an error for the operator.
type Problems []string

func (p Problems) Error() string {
	return "the catalog file has problems:\n  " + strings.Join(p, "\n  ")
}

func (p *Problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// The file; docs/catalog.md describes it.
type file struct {
	Categories []fileCategory `yaml:"categories"`
	Addons     []fileAddon    `yaml:"addons,omitempty"`
	Products   []fileProduct  `yaml:"products"`
}

type fileCategory struct {
	Slug        string `yaml:"slug"`
	Name        text   `yaml:"name"`
	Description text   `yaml:"description,omitempty"`
}

type fileProduct struct {
	Slug        string     `yaml:"slug"`
	Category    string     `yaml:"category"`
	Type        string     `yaml:"type"`
	Name        text       `yaml:"name"`
	Description text       `yaml:"description,omitempty"`
	Features    []text     `yaml:"features,omitempty"`
	Terms       Terms      `yaml:"terms,omitempty"`
	Plans       []filePlan `yaml:"plans"`
}

type filePlan struct {
	Slug        string      `yaml:"slug"`
	Name        text        `yaml:"name"`
	Prices      []filePrice `yaml:"prices"`
	Limits      fileLimits  `yaml:"limits"`
	PHPVersions []string    `yaml:"php_versions,omitempty,flow"`
	Addons      []string    `yaml:"addons,omitempty,flow"`
	Locations   []string    `yaml:"locations,omitempty,flow"`
	NodeLabels  labels.Set  `yaml:"node_labels,omitempty,flow"`
	UpgradeTo   []string    `yaml:"upgrade_to,omitempty,flow"`
	DowngradeTo []string    `yaml:"downgrade_to,omitempty,flow"`
	SLA         *Promise    `yaml:"sla,omitempty"`
	Stock       *int64      `yaml:"stock,omitempty"`
}

type filePrice struct {
	Months           int    `yaml:"months"`
	Cents            int64  `yaml:"usd_cents"`
	FirstPeriodCents *int64 `yaml:"first_period_usd_cents,omitempty"`
	SetupCents       int64  `yaml:"setup_usd_cents,omitempty"`
}

// fileLimits are the Limits of a plan in a file. All but disk_mb may be left out and are then unlimited. disk_mb is required,
// because disks run full and nobody should sell an unlimited one by forgetting a line.
type fileLimits Limits

func (l *fileLimits) UnmarshalYAML(n *yaml.Node) error {
	limits := unlimited()
	limits.DiskMB = 0 // reported by check when the file does not say
	known := map[string]bool{}
	limits.each(func(name string, _ int64) { known[name] = true })
	var unknown []string
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if key := n.Content[i]; !known[key.Value] {
			unknown = append(unknown, fmt.Sprintf("line %d: field %s not found", key.Line, key.Value))
		}
	}
	if unknown != nil {
		return &yaml.TypeError{Errors: unknown}
	}
	if err := n.Decode(&limits); err != nil {
		return err
	}
	*l = fileLimits(limits)
	return nil
}

// text is a translated text; a plain string is the same in all languages.
type text i18n.Text

func (t *text) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*t = text{}
		for _, lang := range i18n.Supported() {
			(*t)[lang] = n.Value
		}
		return nil
	}
	return n.Decode((*map[string]string)(t))
}

func (t text) MarshalYAML() (any, error) {
	for _, other := range t {
		if other != t[i18n.Fallback] {
			return map[string]string(t), nil
		}
	}
	return t[i18n.Fallback], nil
}

const maxFile = 4 << 20

var (
	slugPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	typePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{1,31}$`)
	goType      = regexp.MustCompile(` (in type|into) \S+`)
)

// parse reads and checks a file.
func parse(content []byte) (file, error) {
	var (
		f        file
		problems Problems
	)
	if len(content) > maxFile {
		return f, Problems{fmt.Sprintf("the file is larger than %d bytes", maxFile)}
	}
	var typeErr *yaml.TypeError
	switch err := yamlfile.Decode(content, &f); {
	case errors.Is(err, io.EOF):
		return f, Problems{"the file is empty"}
	case errors.As(err, &typeErr):
		for _, e := range typeErr.Errors {
			problems.add("%s", goType.ReplaceAllString(e, ""))
		}
	case err != nil:
		return f, Problems{err.Error()}
	}
	f.check(&problems)
	if problems != nil {
		return f, problems
	}
	return f, nil
}

// maxCents bounds prices at a million dollars: a higher one is a typing error.
const maxCents = 100_000_000

// check reports everything that is wrong with what was read.
func (f file) check(problems *Problems) {
	if len(f.Categories) == 0 {
		problems.add("categories: at least one is needed")
	}
	categories, products, plans := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, c := range f.Categories {
		at := checkSlug(problems, fmt.Sprintf("categories[%d]", i), "category", c.Slug, categories)
		checkText(problems, at+" name", c.Name, true)
		checkText(problems, at+" description", c.Description, false)
	}
	for i, p := range f.Products {
		at := checkSlug(problems, fmt.Sprintf("products[%d]", i), "product", p.Slug, products)
		p.check(problems, at, categories)
		for j, pl := range p.Plans {
			at := checkSlug(problems, fmt.Sprintf("%s plans[%d]", at, j), "plan", pl.Slug, plans)
			pl.check(problems, at)
		}
	}
	addons := f.checkAddons(problems)
	for _, p := range f.Products {
		for _, pl := range p.Plans {
			for _, key := range pl.Addons {
				if !addons[key] {
					problems.add("plan %s: addons name add-ons of the file, %q is none", pl.Slug, key)
				}
			}
			for _, other := range append(append([]string{}, pl.UpgradeTo...), pl.DowngradeTo...) {
				if !plans[other] || other == pl.Slug {
					problems.add("plan %s: upgrade_to and downgrade_to name other plans of the file, %q is none", pl.Slug, other)
				}
			}
		}
	}
}

func (p fileProduct) check(problems *Problems, at string, categories map[string]bool) {
	if !categories[p.Category] {
		problems.add("%s: category %q is not in the file", at, p.Category)
	}
	if !typePattern.MatchString(p.Type) {
		problems.add("%s: type %q must be lower-case letters, digits and underscores", at, p.Type)
	}
	checkText(problems, at+" name", p.Name, true)
	checkText(problems, at+" description", p.Description, false)
	for i, t := range p.Features {
		checkText(problems, fmt.Sprintf("%s features[%d]", at, i), t, true)
	}
	p.Terms.check(problems, at)
	if len(p.Plans) == 0 {
		problems.add("%s: at least one plan is needed", at)
	}
}

// neverZero are the limits of which every account needs some. To a panel 0 is no limit, so a plan with 0 would be unlimited.
var neverZero = []string{"inodes", "cpu_percent", "memory_mb", "processes"}

func (pl filePlan) check(problems *Problems, at string) {
	checkText(problems, at+" name", pl.Name, true)
	if pl.Limits.DiskMB == 0 {
		problems.add("%s limits: disk_mb is needed (-1 for unlimited)", at)
	}
	Limits(pl.Limits).each(func(name string, value int64) {
		if value == 0 && slices.Contains(neverZero, name) {
			problems.add("%s limits: %s is 0, with which no site runs; leave it out, or write -1, for unlimited", at, name)
		}
		if value < Unlimited || value > 1<<40 {
			problems.add("%s limits: %s is %d, must be 0 or more, or -1 for unlimited", at, name, value)
		}
	})
	pl.SLA.check(problems, at)
	if err := pl.NodeLabels.Check(); err != nil {
		problems.add("%s node_labels: %s", at, err)
	}
	if pl.Stock != nil && *pl.Stock < 0 {
		problems.add("%s: stock must be 0 or more", at)
	}
	if len(pl.Prices) == 0 {
		problems.add("%s: at least one price is needed", at)
	}
	seen := map[int]bool{}
	for _, x := range pl.Prices {
		if x.Months < 1 || x.Months > 120 {
			problems.add("%s prices: months is %d, must be from 1 to 120", at, x.Months)
		}
		if seen[x.Months] {
			problems.add("%s prices: %d months are priced twice", at, x.Months)
		}
		seen[x.Months] = true
		amounts := []int64{x.Cents, x.SetupCents}
		if x.FirstPeriodCents != nil {
			amounts = append(amounts, *x.FirstPeriodCents)
		}
		for _, cents := range amounts {
			if cents < 0 || cents > maxCents {
				problems.add("%s prices: %d months: %d cents, must be from 0 to %d", at, x.Months, cents, maxCents)
			}
		}
	}
}

// checkSlug checks a slug and returns the name by which further problems call the entry.
func checkSlug(problems *Problems, place, kind, slug string, seen map[string]bool) string {
	switch {
	case slug == "":
		problems.add("%s: slug is needed", place)
		return place
	case len(slug) > 64 || !slugPattern.MatchString(slug):
		problems.add("%s: slug %q must be lower-case letters, digits and single hyphens, at most 64", place, slug)
	case seen[slug]:
		problems.add("%s: the %s %q is in the file twice", place, kind, slug)
	}
	seen[slug] = true
	return kind + " " + slug
}

// checkText checks that a text is complete in all languages, or absent where it is optional.
func checkText(problems *Problems, at string, t text, needed bool) {
	if len(t) == 0 {
		if needed {
			problems.add("%s: is needed", at)
		}
		return
	}
	known := 0
	for _, lang := range i18n.Supported() {
		if strings.TrimSpace(t[lang]) == "" {
			problems.add("%s: has no text in %q", at, lang)
		}
		if len(t[lang]) > 4000 {
			problems.add("%s: is too long in %q", at, lang)
		}
		if _, ok := t[lang]; ok {
			known++
		}
	}
	if len(t) > known {
		problems.add("%s: has languages other than %s", at, strings.Join(i18n.Supported(), ", "))
	}
}
