// Package bench measures what an operator of Stead feels: how long a customer waits for a site, what
// the embedded node serves, and what a call of the interface costs. README.md has the commands and
// the figures.
package bench
