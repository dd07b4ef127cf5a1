// Package provisioning makes hosting panels follow services: it makes their accounts, takes these offline and online,
// gives them the limits of their plans, and removes them. It owns no table. What a service should be on its panel says
// Services, which also hears how far the panel came; all of it is done by jobs, which section services inserts in the
// transaction that changes a service (Enqueue…).
//
// What holds:
//
//   - The account's ref on the panel is the service's id. Whatever runs twice finds what it made before, so a crash
//     between the panel's answer and the commit leaves one account.
//   - Each job reads what the service should be now, and those that change an account look again after they have acted:
//     of two runs at once, the one that acts last leaves the panel as the service is.
//   - A service in provisioning, or terminating, always has a job, or gets one from Reconcile.
//   - An account goes only when all of it is kept (Keeper), its panel keeps nothing, or an operator said so.
//   - What is left of an account is removed before another one is made for the same service.
//
// Not promised: that a failed call of a panel left nothing behind at once. The job that cleans up removes it when the
// panel answers again.
package provisioning
