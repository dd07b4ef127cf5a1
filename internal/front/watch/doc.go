// Package watch has the figures by which operators are paged: what is stuck, late or about to fail, in all of the
// installation. Prometheus reads them at /metrics; deploy/prometheus has the rules, docs/runbooks what to do.
//
// Figures are read from the database when they are asked for, at most twice a minute, so every replica tells the same: a rule
// takes their maximum, never their sum. None has a label of a customer or a service. One that cannot be read is left out, and
// its rule says so by absent().
//
// It owns the table watch_checks: the last time that the ledger was added up, and what it missed then.
package watch
