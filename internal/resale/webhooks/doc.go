// Package webhooks tells resellers what happened (specification, "Reseller"; resources, sections 23 and 25).
//
// What holds:
//
//   - An event and its deliveries are written in the transaction that takes the event from the outbox, so none is
//     lost and none is doubled. The body is stored: each attempt sends the same bytes with the same id.
//   - An endpoint is called by one worker at a time, which holds its lease. A worker that dies leaves the lease to
//     expire; the attempt that it was making is made again. Whoever lost the lease writes nothing.
//   - Events of one subject reach an endpoint in their order: a later one waits until the earlier one has arrived or is
//     given up. Other subjects do not wait.
//   - An endpoint that fails is left alone for a while; that holds up nobody else.
package webhooks
