// Package adminer opens databases in browsers, by the program of that name as Debian installs it.
//
//	browser ─▶ nginx ─▶ gate (this process) ─▶ PHP-FPM: Adminer ─▶ door (this process) ─▶ database server
//
//	<Dir>/gate/gate.sock      where nginx passes on what is asked for below Path
//	<Dir>/fpm/                PHP-FPM's configuration and its socket, which root alone reaches
//	<Dir>/www/index.php       what makes Adminer one for one database
//	<Dir>/sockets/            the doors: sockets of MariaDB's and PostgreSQL's protocol, for Adminer's user
//	<Dir>/tmp/                what Adminer remembers of its visitors, and what they upload
//
// A visit is a browser's access to one database. What holds:
//
//   - It begins at an address with a token, which works once and for a minute, and then has a cookie. It ends after an hour,
//     when it is left, when the database is deleted, when its account is suspended or gone, and with this process, which keeps
//     visits in its memory alone. Of tokens and cookies it keeps hashes.
//   - No password of a database is anywhere in it. The gate tells Adminer the database and a secret of the visit's, with
//     each request; the doors take that secret and sign in as the database's own user (databases.Driver.Visit). So what is
//     made belongs to that user, nothing is added to a server, and nothing is left there.
//   - Adminer connects to nothing else: its server, user and database are the gate's, whatever a browser says; it has no
//     network and may open no files but its own; its user is no account's, and its processes gain no rights.
//   - Sites of customers reach neither Adminer, whose socket is root's, nor the doors. What answers is at addresses of the
//     machine's own, which serve no site.
//   - An account has few requests at a time, so that none keeps Adminer from others.
package adminer
