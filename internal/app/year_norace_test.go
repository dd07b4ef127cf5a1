//go:build !race

package app

// yearServices is how many services of the twenty resellers live through the year.
const yearServices = 1000
