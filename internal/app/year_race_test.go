//go:build race

package app

// yearServices is how many services of the twenty resellers live through the year under the race detector, which makes
// all of it several times slower.
const yearServices = 200
