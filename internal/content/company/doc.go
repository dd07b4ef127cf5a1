// Package company owns how the company shows itself: its name, colour, pictures, support address and legal links, in the
// tables company_*; and what mails say, where staff have changed it.
//
// What holds:
//
//   - Staff change it while the program runs; each change is in the audit log with the state before and after, and reaches
//     all replicas by a signal. What staff have left empty has the configuration's value.
//   - Whoever shows the brand asks Current each time and keeps nothing of it.
//   - Texts and pictures are changed in one commit, so no page has half of a new brand.
//   - Pictures are served with a type that was found out from their content, without any right of their own
//     (Content-Security-Policy), and are the same for every reader, so a picture in a mail tells nobody who has read it.
//   - A reseller's client sees nothing of it.
package company
