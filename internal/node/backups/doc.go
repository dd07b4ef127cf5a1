// Package backups keeps copies of a machine's accounts and puts them back.
//
// A backup has parts, and each part is one stream, a tar. The home is read as the account's user
// through an os.Root, so that no link and no race makes it hold what the user could not read itself;
// the other parts are what their facilities dump. The streams go to a Store: a folder of compressed
// tars, or a restic repository of the account's own in a folder or in S3. The store's program sees
// streams only, never a customer's path, and a customer's processes never see the store.
//
// What holds:
//
//   - A backup is complete when its record says so, which is written last, with the checksum of each
//     stream. What a crash leaves of an earlier try is not referred to and goes with the backup.
//   - Before a restore changes anything it reads all that it needs and compares the checksums.
//   - A restore takes place as the account's user, below an os.Root of the home; it can be repeated
//     from any point, and is after a crash.
//   - The store outlasts the account: a final backup is restored into an account made anew.
//
// On the disk, below Config.Dir:
//
//	of-<ref>/<id>.json a backup, a restore or a check: the record
//	running/<ref>      id of the task that is running, for the next start
//	work/              what facilities dump and load, for root only
package backups
