// Package e2e has no code, only tests: they build the program and use it as an
// operator, a customer and an integrator do, and kill it where it hurts.
package e2e
