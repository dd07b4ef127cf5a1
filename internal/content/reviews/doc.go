// Package reviews owns what customers say of the company (specification, "Content"; resources, section 12), in the
// table reviews.
//
// What holds:
//
//   - An account has one review, which its owner may change and delete. Only an account that has a paid service writes
//     one; a review stays when the service ends.
//   - The public list and the rating have approved reviews only. Every change by the author makes the review pending
//     again, and staff decide on one version: a text that was changed after they read it is not approved with it.
//   - A review goes with its author's account.
//   - Nothing is invented. The demonstration has samples, which say so in their text and in the answer (sample).
package reviews
