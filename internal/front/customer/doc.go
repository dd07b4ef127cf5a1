// Package customer is what the command `stead` does for a customer of a hosting company: it signs in to a server, finds sites by
// name, deploys folders, and keeps DNS records. It knows the public interface alone, through the Go SDK.
//
// Sign-ins are kept in a file that only the user of the machine can read. No token is ever an argument: other users of the machine
// see those.
package customer
