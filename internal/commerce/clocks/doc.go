// Package clocks owns the test clocks of sandboxes, so that a reseller sees the whole life of its services in seconds. An
// operator or a key of the sandbox moves a clock.
//
// A sandbox has the real time until its clock is moved. A moved clock stands still until it is moved further, is reset, or
// the real time has reached it; it is never behind the real time. It advances from one due moment to the next, and at each
// moment everything that is due is done first (Life). So a year that passes in a minute has every reminder, renewal and
// suspension of a year, in order and at the right time.
//
// What holds:
//
//   - No clock exists for an account that is no sandbox: nothing here can move the time of the live world. Sections
//     ask for the time of a sandbox only.
//   - A clock that is on its way stays so when the process dies; a periodic job continues it.
//   - Only the services, orders and money of a sandbox follow its clock. Signing in, keys, throttles, webhooks, jobs and
//     hosting servers have the real time.
package clocks
