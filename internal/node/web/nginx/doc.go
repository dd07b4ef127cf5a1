// Package nginx serves the sites of a machine by an nginx of the machine's own.
//
//	<Dir>/nginx.conf                     what is the same for all sites
//	<Dir>/conf/sites/<account>.conf      the sites of an account
//	<Dir>/conf/certificates/<account>/   copies of their certificates and keys
//	<Dir>/pages/                         the machine's own error pages
//	<Dir>/default.pem                    the self-signed certificate for names without one of their own
//	<Dir>/status.sock                    where nginx says which configuration it has
//
// What must hold besides what package web says:
//
//   - The files of an account are checked by nginx before they are taken over, and taken back when nginx
//     does not (daemon.Files). Apply returns when no worker with the former configuration takes
//     connections any more.
//   - What a site adds to the time of a reload is a tenth of a millisecond: the sites of a machine are
//     one configuration, and what counts are the blocks, directives and logs of each. So what sites share
//     stands above them, a site has as few locations as it can, nothing of OpenSSL's is made for one
//     without a certificate, the pattern that a request meets is not compiled to machine code, and
//     PHP's sockets are no upstreams, of which nginx compares each with all others.
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
