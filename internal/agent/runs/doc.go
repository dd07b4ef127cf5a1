// Package runs is the AI agent that works on a hosting project (specification, section "AI agent"; resources, sections 13
// and 14): settings, runs, conversations, approvals, and the journal by which every change can be undone. docs/ai.md tells
// it to customers and operators.
//
// It owns the tables ai_*.
//
// A run is a row (run.go). A process leases it and asks next (life.go, pure) what is to be done: make the changes that are
// written in the journal, do a call, ask the model, or end. Each step ends in one commit, so a process that is killed at any
// point leaves a run that another one goes on with, or ends:
//
//	queued → running ⇄ waiting_approval → completed | failed | cancelled
//
// What holds:
//
//   - A service has one run at a time. Who holds an old lease (epoch) writes nothing.
//   - A change of a file is in the journal, with what was there before, before it is made, and is made only while the path
//     still is as it was then (change.go). It is made by the hosting server as the account's user.
//   - A site that worked before the run and does not after its changes gets them taken back (broken.go).
//   - Undoing is a run too, whose changes are all in the journal from the start. So an undo survives a kill, and can be undone.
//   - The service comes from the run, never from an argument of the model; paths are fenced by the settings, and no link is
//     followed.
//   - What the model reads is data: it is marked as such (untrusted.go), and no tool reaches another service, money or a
//     network beyond the service's own site, which is asked for at its own server (fetch.go). What asks a person (policy.go) is decided in code; the model has no tool that approves.
//   - Secrets are masked before anything is sent, stored or logged (package redact); what the platform has issued is known
//     by its value (secrets.go).
//   - Money is held when a run begins. What its answers cost is captured when it ends, and never more than was held.
//   - Work is bounded: steps, calls, time, bytes, files, money. Each bound has a reason of its own (Reason).
//   - The network is never used inside a transaction.
//
// Not promised: that a secret without a name in a file with any name is masked; and that an answer of a model that was lost
// with its process is paid by nobody: the provider may bill the company for it.
package runs
