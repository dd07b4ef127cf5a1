// Package moves takes hosting services from one machine to another. An operator asks for it; a row of moves_moves is one
// move of one service, and a job takes it on, step by step, until nothing is left to do.
//
// A recovery makes the accounts of a machine that is dead on other machines, out of their newest backups:
//
//	plan     room on another node is reserved for the service
//	adopt    that node gets the passport of the newest backup and finds it in its store; else the next older one
//	check    it reads the backup whole, so that a damaged one is found before anything is changed
//	make     it makes the account
//	commit   in one transaction: the service is on that node, its epoch is one higher, and DNS follows
//	fill     it has domains, databases, mailboxes and the rest as their rows say
//	restore  it restores files, databases and mail of the backup
//	open     the older backups are adopted too, and the owner can change things again
//	leave    the former machine is told, as soon as it answers, that it has the account no more
//	keep     a week later, when there is a newer backup, what is left there is deleted
//	closed
//
// A move of a service whose machine lives takes everything with it:
//
//	lower    the DNS says for a minute only where the service is, and what it said before runs out everywhere
//	plan, save  room is reserved, and that machine makes a copy of the service while it goes on
//	adopt, check, make  as above, with that copy
//	hold     nothing of the service changes any more (panel.Moving), and the last copy is made of it, which has little to do
//	ready    the account on the other machine is filled from the rows and from the last copy
//	commit   as above; before it the former machine is told to stay unchanged until it is told otherwise
//	fill, open  the rest follows, and the other machine serves it
//	leave    the former machine passes visitors on whose DNS still leads there, until keep has ended
//
// A hold ends by itself when nobody asks for it again, and what was copied under it is then copied anew.
//
// A failure before commit goes to undo: the service is where it was, its owner can change it again, and its room is given back.
// What was made on the other machine is deleted as soon as that answers, unless it was removed.
//
// What holds:
//
//   - A step may run twice, and die at any point. It begins with a look at what is there, its tasks on machines bear the
//     move's id, and the row says which step comes next only after it is done (Service.Step).
//   - A service is on one machine at any time: commit is one transaction that compares the machine which it comes from.
//   - The machine that it has left serves nothing of it any more from the moment at which it is told: with the answer to
//     its first report (Left), and by the step leave. What is told late is old news to a machine to which it came back,
//     for the epoch says which of the two is newer.
//   - Nothing is changed of a service without a backup that can be had, unless the operator says that it may be empty.
//   - An account that is being filled gets no mail, runs no cron job and answers visitors 503 (panel.AccountSpec.Arriving).
//   - Locks are taken in the order service, node, move.
//
// Not promised of a recovery: what came after the backup.
package moves
