// Package backups owns the backups of hosting services: what there is of them,
// their making by hand and by the day, their restoring, and how long they are
// kept (specification, section "Service management"; resources, section 22).
//
// The work is the panel's, and goes on there whatever becomes of this process.
// A row says what was asked for and how far it is; a job asks the panel again and
// again (Snooze) and writes what it learns. Rows of the platform that belong to a
// service, such as its DNS records, are documents in the backup: the sections
// that own them are Sources.
//
//	backup:  queued → running → completed | failed; completed ⇄ restoring; → deleted
//	restore: queued → verifying → importing → restoring → completed | failed
//
// What holds:
//
//   - A service has one backup or restore under way at a time; unique indexes and
//     the service's lock say so (job_running).
//   - Every step may run twice, and begins with a look at what the panel has: its
//     tasks are named by our ids.
//   - Before a restore a backup is made of the parts that it replaces (pre_change),
//     and the backup to be restored is read whole: one that is damaged is refused
//     as backup_not_restorable before anything is touched.
//   - A plan's limit `backups` bounds automatic and manual backups together. Manual
//     ones beyond it are refused; automatic ones make room by the oldest of them.
//     Those of a moment, pre_change, are not counted.
//   - All that is kept is read in its time, also of services that are suspended or
//     have ended; what is damaged is not offered any more.
//   - Backups are kept for Kept, those before a change for KeptBeforeChange, the
//     final one of a service that ended as long as its product says (Terms).
//
// Not promised: that the parts of a backup are of one instant. Each is consistent
// in itself.
package backups
