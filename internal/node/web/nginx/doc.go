// Package nginx serves the sites of a machine by an nginx of the machine's own.
//
//	<Dir>/nginx.conf                     what is the same for all sites
//	<Dir>/conf/sites/<account>.conf      the sites of an account
//	<Dir>/certificates/<domain>          the certificate and key of a site, or a copy of _
//	<Dir>/certificates/_                 the self-signed certificate for names without one of their own
//	<Dir>/pages/                         the machine's own error pages
//	<Dir>/status.sock                    where nginx says which configuration it has
//
// What must hold besides what package web says:
//
//   - The files of an account are checked by nginx before they are taken over, and taken back when nginx
//     does not (daemon.Files). Apply returns when no worker with the former configuration takes
//     connections any more.
//   - What a site adds to the time of a reload is a tenth of a millisecond: the sites of a machine are
//     one configuration, and what counts are the blocks, directives and logs of each. So what sites share
//     stands above them, a site has as few locations as it can, nothing of OpenSSL's is made for it,
//     the pattern that a request meets is not compiled to machine code, and PHP's sockets are no
//     upstreams, of which nginx compares each with all others.
//   - A certificate is in no configuration: nginx reads the file of the site that the handshake names,
//     at each handshake that does not resume a session: 1.1 ms of processor in all, of which 0.8 are for
//     the reading (OpenSSL 3.0, P-256). So a certificate costs no reload, neither when it is new nor when
//     it is renewed, and a reload reads none: with 5,000 that would take eight times as long. The file's name is $server_name, the first name of the server
//     block that the client's name selects: nothing that a client sends is part of a path. A server block
//     is in the configuration only while its file is there. The file is replaced whole; a handshake between
//     whose reads of the chain and the key that falls, some microseconds, fails, and the next one does not.
//   - Keys are readable by the workers alone, which always had all of them in memory: the directory lets
//     no customer's user pass, and the files are the workers' own. As no file in a home is, no link in a
//     home leads to them, also not one that is exchanged while nginx looks at it.
//   - Whatever a customer chose (document root, redirect) stands in the configuration as a quoted string:
//     see quote. No value of a customer's is a directive or a variable.
//   - The logs that nginx opens as root are in directories of root's (package logs). What the workers
//     open is opened as www-data, and behind the home no link is followed whose target has another
//     owner than the link (disable_symlinks if_not_owner), so no account is served another's files.
//   - Names that begin with a dot are not there, except /.well-known/.
//   - The challenges of RFC 8555 are answered for every name from one directory of root's, also for sites
//     that redirect, force HTTPS, are suspended, or are not known at all; a site's own file comes second.
//
// An account's own error pages are /errors/404.html, or /404.html, below its document root; so for 403,
// 405, 413, 500, 502, 503 and 504.
//
// Differences to the Go server: validators (ETag) have nginx's precision of a second and the size; a
// directory without an index is 403; the name in a Host header must be in its ASCII form.
package nginx
