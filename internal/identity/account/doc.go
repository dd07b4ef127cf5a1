// Package account owns who may sign in and how: accounts, passwords, second
// factors, passkeys, sessions of browsers, and the mails about them
// (specification, "Account").
//
// An account is open, suspended (nobody can sign in, sessions are ended) or
// closed (the row stays for what refers to it, without what names a person).
// A sign-in is a password, then a second factor where the account has an
// authenticator app; or a passkey that verified its user, which is both at once.
//
// What holds:
//   - passwords are argon2id; whether an address has an account shows neither
//     in the answer of a sign-in or recovery nor in the time it takes;
//   - every token (session, ceremony, link in a mail) is random and stored
//     hashed; a session's token is made when the sign-in is complete, so none
//     that was known before can become signed in;
//   - a code of an authenticator app, a recovery code, a passkey's challenge and
//     a link in a mail each work once, also when two requests race;
//   - a changed password ends all other sessions, a recovered one ends all;
//     suspension and changes of role or preferences are signalled (Topic), so
//     that what other sections cache of an account is gone within a second.
//
// Not promised: that registration hides which addresses have an account. It
// must refuse them; attempts are limited per address.
package account
