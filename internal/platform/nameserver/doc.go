// Package nameserver is an authoritative server of the Domain Name System. It
// answers from memory: whoever owns zones hands them over whole (Set, Remove), and
// each version that it was handed is what it serves from then on. It looks nothing
// up and knows no database.
//
// What holds:
//
//   - It answers for its zones only, never recursively; other names are REFUSED.
//   - Answers are those of RFC 1034, with wildcards of RFC 4592: an answer, NODATA
//     or NXDOMAIN with the SOA, or a referral with glue below a delegation. CNAMEs
//     are followed within the zone. ANY is answered minimally (RFC 8482). Addresses
//     that the owner of a zone does not know at present are SERVFAIL.
//   - It is a hidden primary: zones are transferred (AXFR, and IXFR from the last
//     versions in memory) to the configured secondaries only, and only when the
//     request bears the key's TSIG; a secondary is told of changes by NOTIFY, and who
//     does not take them is known (Lags). Private zones, such as the catalog (RFC 9432), are answered to secondaries only.
//   - One network cannot make it flood another: answers over UDP are limited per
//     network, and the client behind a forged address is sent to TCP.
//
// Not promised: DNSSEC, dynamic updates.
package nameserver
