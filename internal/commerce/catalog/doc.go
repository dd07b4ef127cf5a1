// Package catalog holds what is for sale: categories, products, and plans with
// their prices per period (specification, "Catalog"; resources, section 12).
//
// It owns the tables catalog_*. Their one source is the operator's YAML file
// (docs/catalog.md), brought in by Import in one transaction: nothing of a file
// that has a problem is taken.
//
// Invariants: slugs are unique and never reused for something else; a plan, a
// product or a category is never deleted, because orders and services refer to
// it: what the file no longer names is taken off sale. Positions follow the
// order of the file.
//
// Not promised: a price stays what it was. Orders copy the price they were made
// at and ask Offer again before they charge.
package catalog
