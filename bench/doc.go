// Package bench measures what operators and customers notice: how long a customer waits for a site, how many requests the
// embedded node serves, and what a call of the interface costs. README.md has the commands and the figures.
package bench
