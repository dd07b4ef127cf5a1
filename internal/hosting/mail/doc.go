// Package mail owns the mailboxes of hosting services, in the tables mail_boxes, mail_domains and
// mail_services (specification, section "Service management"; resources, section 16).
//
// A row of mail_boxes is what should be. Every change writes the row and a job in one commit; the job has
// the panel follow (site.Follow) and puts what the domains need into their zones: MX, SPF, DKIM, DMARC and
// the services of RFC 6186. A customer's own records win there.
//
// What holds:
//
//   - A password comes in and is hashed at once, in the form that mail servers compare with. The clear text
//     is neither stored nor sent on.
//   - An address belongs to a domain of its service; an address and its aliases are one mailbox's.
//   - A mailbox of a domain that has left the service is disabled: the panel serves it no more. Its mail is
//     there until the mailbox is deleted.
//   - What mailboxes use is the mail server's own count, taken every few minutes, never within a request.
//     So is what the DNS says of the domains.
package mail
