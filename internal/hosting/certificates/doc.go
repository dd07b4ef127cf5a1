// Package certificates owns the certificates of hosted domains and their keys (specification, section "Service
// management": ssl; resources, section 19), in the table certificates and those that begin with certificates_.
//
// A row is a certificate that is wanted, and once there is one the certificate that is in use. Its phase is how far an
// order for the next one is:
//
//	idle      nothing to do before renew_at
//	wanted    to be ordered at due_at; failures count and put it off
//	ordering  an order is under way at the authority (order_url), or about to be placed
//
// What holds:
//
//   - The certificate in use is replaced when its successor is there, complete, and never otherwise: a renewal that
//     fails leaves the certificate, the redirect to HTTPS and HSTS as they are, notes why on the row and tells
//     (ssl.failed).
//   - An order survives a crash at any point. Each step is written before the next one begins: the new key before the
//     order is placed, the order's address before anything is proved, the certificate with all that follows from it in
//     one commit. A job that runs again goes on where the last one stopped.
//   - One job at a time works on a row (busy_until).
//   - Keys are sealed in the table, go to the panel and to nobody else; no answer, event or log has them. Each renewal
//     has a new key.
//   - The limits of authorities are kept before they are met: five failures of a name in an hour, five certificates in a
//     week. What an authority asks for by Retry-After is kept to, for the whole platform when it is about its account.
//   - Renewal is when the authority says (RFC 9773), else when a third of the lifetime is left, at a random time around.
//   - Which certificate a domain is answered with: the valid one that was asked for last. The panel follows rows by
//     site.Follow.
//
// Not promised: that an authority issues within a given time.
package certificates
