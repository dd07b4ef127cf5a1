// Package oauth is Stead's OAuth 2.0 authorization server (specification,
// "OAuth 2.0 (public API)"): applications, consent, codes, tokens.
//
// It owns the tables oauth_*. An application is registered by a customer, or is
// Stead's own (first party; only the operator makes those). A consent remembers
// what an account has allowed an application. A grant is one authorization: the
// family of the code, the access tokens and the refresh tokens that came of it.
//
// States. A code: issued, used or expired. A device code: pending, allowed or
// denied, used, expired. A refresh token: issued, used,
// expired; for some seconds a used one is answered with the same tokens, unless
// they have been used. An access token: issued, expired, revoked. A grant: live or ended, and ending it
// ends everything that came of it; nothing of an ended grant lives again.
//
// Invariants:
//
//   - Codes, tokens and secrets are stored as SHA-256 only. The one exception is
//     the answer to a refresh, encrypted, for the seconds of the grace.
//   - A code gives tokens once. Presented again it ends the grant, and so does a
//     used refresh token after its grace.
//   - A token never bears a scope that the account did not approve, that the
//     application may not have, or, for admin, that the account has no role for.
//   - A grant of one of Stead's own applications, which nobody was asked for, ends with
//     the browser session in which it was made: signed out, expired, or unused.
//   - Redirect URIs match exactly; only the port of a loopback address is free.
//   - A public client proves possession of the code by PKCE with S256; whoever
//     began with a challenge must end with its verifier, and nobody else may
//     bring one.
//
// Verify answers from memory. What it remembers is forgotten when a signal says
// so, in every replica within a second; while a replica cannot hear signals it
// reads the database instead.
//
// Not promised: an access token that a refresh has followed stays good until it
// expires or is revoked, so that requests under way do not fail. A consent does
// not expire.
//
// The checklist is RFC 9700; docs/oauth.md names the test of each of its points.
package oauth
