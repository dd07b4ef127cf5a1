// Package exports owns the archives of what is kept about an account, which its owner asks for and downloads.
//
// An archive is pending while a job makes it, then ready until it expires, or failed. An account has one at most: asking
// again replaces one that is not pending. It is a ZIP of what the reading operations answer, as the modules name them
// (module.Export), and of a README in the owner's language.
//
// What holds:
//   - only a browser in which the owner has proved who they are a short time ago asks for an archive or downloads it;
//   - it holds no password, secret or token: operations show none, but for the members that a module omits, and members
//     with such names are left out whatever a module says;
//   - its parts are sealed in the database, so that a backup of it shows none, and are removed when it expires;
//   - an attempt that another has overtaken writes nothing more.
//
// Not promised: one moment for all files. What changes while an archive is made may be in one file and not in another.
package exports
