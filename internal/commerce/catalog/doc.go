// Package catalog holds what is for sale: categories, products, and plans with
// their prices per period (specification, "Catalog"; resources, section 12).
//
// It owns the tables catalog_*. Their only source is the operator's YAML file (docs/catalog.md). Import reads it in one
// transaction; a file with a problem changes nothing.
//
// Invariants: slugs are unique and never reused for something else. A plan, a product or a category is never deleted,
// because orders and services refer to it; one that the file no longer names is taken off sale. Positions follow the order of
// the file.
//
// Not promised: that a price stays. Orders copy the price at which they were made and ask Offer again before they charge.
package catalog
