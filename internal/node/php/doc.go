// Package php runs the PHP programs of accounts by PHP-FPM of the machine's own.
//
//	<Dir>/<version>/php.ini, ini.d/                    what is the same for all accounts
//	<Dir>/<version>/masters/<n>/php-fpm.conf           a master
//	<Dir>/<version>/masters/<n>/pools/<account>.conf   an account's pool in it
//	<Dir>/run/<account>-<version>.sock                 its socket, for the web server's workers only
//
// Each version that Debian installed (/usr/sbin/php-fpm8.2) has as many masters as its accounts need, each
// for the pools of so many (perMaster): what a change of one account costs, and whom it makes wait, does
// not grow with the machine. An account has the same number of master for life, in any version; a version
// that nobody uses has no process. A pool has none while nobody visits (pm = ondemand).
//
// What must hold:
//
//   - A pool's processes run as the account's user. What keeps accounts apart is the kernel: homes that
//     others cannot enter, sockets that only the web server may open. open_basedir and the disabled
//     functions make the usual mistakes harmless; nothing depends on them.
//   - The cache of compiled programs is one memory per master. It answers nobody a program whose file
//     that user cannot read now (opcache.validate_permission), and its functions are not callable.
//   - A configuration is checked by PHP-FPM before the master reads it (daemon.Files): a master that is
//     made to read one that it refuses ends, and with it everybody's programs.
//   - A reload waits for requests that run, for graceful at most; those that come meanwhile wait in
//     the sockets, which stay open.
//   - Another version is served from the moment when its pool answers; the former pool goes after that.
//
// Extensions: those in always are loaded by the master, for everybody, because they are what programs
// expect and share their memory. Any other that is installed can be switched on for one account: its pool
// loads it. Extensions of Zend's (debuggers), FFI, and those that would fail to load, are not offered.
package php
