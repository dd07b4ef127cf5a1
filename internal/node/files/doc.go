// Package files works on the files of accounts: it lists, reads, writes, moves, searches, packs and
// unpacks, and holds every account to its disk and inode limits.
//
// What must hold:
//
//   - Everything goes through an os.Root of the account's home, opened for the call. No path and no
//     symbolic link, however it is made or swapped meanwhile, leads out of it.
//   - It is done as the account's user (package identity), so that the kernel refuses what is not the
//     account's, whatever this package overlooks; only names and sizes are counted as root.
//   - A change is prepared in the home's tmp directory under a name that customers cannot speak, and
//     then renamed into place: no reader and no crash sees a part of it.
//   - Nothing but plain files is opened, so that a pipe blocks nobody.
//   - Memory is constant, whatever the size of files, trees and archives.
//
// The facility's interface is the port's own: panel.Files and panel.Archives.
package files
