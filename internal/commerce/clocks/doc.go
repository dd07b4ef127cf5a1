// Package clocks moves the time of sandboxes, so that a reseller sees the whole life of its services in seconds: an
// operator's, or a sandbox key's, test clock.
//
// A sandbox has the real time until its clock is moved. A moved clock stands still, until it is moved further, is reset,
// or the real time has reached it: it is never behind. It is moved from one due moment to the next, and at each all
// that is due is done before it goes on (Life), so that a year that passes in a minute has every reminder, renewal and
// suspension of a year, in order and each at its own time.
//
// What holds:
//
//   - No clock exists for an account that is no sandbox: nothing here can move the time of the live world. Sections
//     ask for the time of a sandbox only.
//   - A clock that is being moved stays so when the process dies; a periodic job takes it on.
//   - Only what a sandbox's services, orders and money do follows its clock. Signing in, keys, throttles, webhooks, jobs
//     and hosting servers keep the real time.
package clocks
