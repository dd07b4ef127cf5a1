//go:build race

package app

const underRace = true
