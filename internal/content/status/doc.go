// Package status owns what everybody may know of how the platform does (specification, "Content"): its components, the
// incidents and the maintenance that staff announce, and the worst of every day.
//
// A component is a part that customers notice: the interface, the panel, hosting at each location, DNS, mail, domains,
// payments. Its level is the worst of what incidents say of it and of what is observed; while its maintenance goes on,
// what is observed is expected and does not count. Machines are never named: those at one location are one component.
//
// What holds:
//
//   - Opening and resolving an incident is one commit with the events that resellers get.
//   - The answer comes from a copy in memory that is at most 10 seconds old. When the database does not answer, the last
//     copy is served with the time at which it was true, and the interface and the panel as out of order.
//   - Nobody gets mails who has not confirmed it by a link that only the owner of the address has. Every mail has a link that
//     ends the subscription and deletes the address.
//   - What subscribers are told is written in the commit of the change, and their jobs are made in batches, each once: a mail
//     is sent at least once, and twice only when a process dies just after sending it.
//   - Counting a day again changes nothing: its row only ever becomes worse.
//
// Not promised: that an outage which nobody announced, and which is not of a machine, is seen by itself; nor that one of the
// database is found in the history unless staff open an incident.
package status
