// Package remote carries the panel port over a wire: Handler answers for a panel that is in this
// process, Panel is one that is elsewhere.
//
// The wire is HTTP, version 2 over mutual TLS in earnest; who may call is the listener's affair. A
// method is a POST to /v1/<capability>.<Method>. Its arguments are a JSON array, its answer is JSON.
// A failure is an answer of status 422 whose JSON has the kind, and is the same *panel.Error on the
// other side. Streams:
//
//   - an io.Reader argument follows the arguments in the request's body: four bytes, big-endian, say
//     how long the JSON is. A body that breaks off is a failure of the sender.
//   - an io.ReadCloser answer is the answer's body; what ends it early stands in a trailer.
//   - both at once are a conversation: what is sent and what is answered go their ways side by side.
//   - a panel.File is a body too, from the offset that the request's header names; its entry is in a
//     header, and seeking is asking anew.
//
// A context that ends on one side ends on the other, because HTTP/2 resets the stream.
//
// The methods of Panel and the table of capabilities are generated from the interfaces of package
// panel (methods.go): whoever adds one to the port runs
//
//	go test ./internal/port/panel/remote/generate -update
package remote
