// Package controlbackup backs up and restores what the control plane consists of: its database, the key that seals stored
// secrets, and the settings. What customers have on hosting machines is backed up there (hosting/backups).
//
// An archive is one file, stead-20261123T073000Z-7f3a.sbk: a tar, compressed by zstd, encrypted by age for a passphrase or
// for recipients. It is always encrypted, because the key is in it. Its first entry is the manifest, which names all others
// with their sizes and hashes. Beside it in the store lies a sidecar of the same name that ends in .json and has no secret.
// The sidecar is written last: an archive without one is no backup.
//
// Every archive is read back from the store and decrypted before it counts as good. Once a day it is restored into a scratch
// database, whose rows are counted and whose ledger is recomputed: then it is proven.
//
// A restore never touches what is there before the archive has been read to its end and its database has been checked, and
// it keeps what it replaces. A restored installation is on hold (platform/hold).
package controlbackup
