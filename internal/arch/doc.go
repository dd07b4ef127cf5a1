// Package arch has no code, only tests: they hold the rules of docs/architecture.md that a compiler cannot, by
// reading the source of the whole module. A rule that is broken fails `make test` with the file, the line and the
// reason.
package arch
