package site

// Record is a record that a section wants in the zones of a service.
type Record struct {
	Name     string  `json:"name"` // absolute, without the last dot
	Type     string  `json:"type"` // such as TXT; any but ALIAS and NS
	Value    string  `json:"value"`
	TTL      int     `json:"ttl,omitempty"` // in seconds; 0 is 3600
	Priority *int    `json:"priority,omitempty"`
	Weight   *int    `json:"weight,omitempty"`
	Port     *int    `json:"port,omitempty"`
	Flags    *int    `json:"flags,omitempty"`
	Tag      *string `json:"tag,omitempty"`
}
