// Package api is the edge of the HTTP interface. A section declares each of
// its operations as a value: what it is called, where it stands, who may call
// it, and a typed function. The edge runs the same phases for every one, in
// this order, so that no operation can forget one:
//
//  1. the section is switched on (else 404 section_disabled)
//  2. authenticate (401)
//  3. throttle, per token or key, else per address (429)
//  4. first party, admin role, scope (403)
//  5. a sandbox application writes nothing (403 sandbox_read_only)
//  6. decode and validate parameters and body (400, 413, 415, 422); after a body
//     that took long to arrive, 2 and 4 again
//  7. idempotency (409, 422, or the stored answer)
//  8. the function
//  9. encode
//
// The throttle stands before the scope, other than the design's list has it,
// so that every answer bears its headers and a client that is refused for a
// scope is counted like any other.
//
// Three forms of functions exist. Handle answers a value. Commit is for
// operations that move money and accept an Idempotency-Key: the edge opens the
// transaction, and the effect and the encoded answer are one commit. Stream
// writes the answer itself, for uploads, downloads and event streams.
//
// Types of inputs and answers are plain structs; their tags are huma's, whose
// schemas validate what comes in and are published in the OpenAPI document.
package api
