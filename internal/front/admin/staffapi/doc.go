// Package staffapi has the operations of staff, /api/v1/admin: what the pages for staff call. Each calls a use case of
// package admin, which the commands call too, so both have the same rules and write the same rows of the audit log.
//
// An operation says which roles may call it. All roles read what they need for their work; secrets are in no answer.
package staffapi
