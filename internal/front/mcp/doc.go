// Package mcp is the front for AI agents: reading operations of the interface as tools of the Model Context
// Protocol (specification, section "MCP"), over its streamable HTTP transport without sessions.
//
// A tool is an operation: its arguments are the operation's parameters, its answer is the operation's answer, its
// schemas are made of those of the OpenAPI document. So what an agent sees is what its token or key may see, and nothing here
// knows what a service is.
//
// Answers are made fit for models: the fields that are asked for, secrets of files and logs masked, long lists cut at a
// row. Customers' agents also have resources, which are made of the same operations, and prompts.
//
// What holds:
//
//   - Only operations that read are tools; api.Edge.Tool refuses others.
//   - The list has the tools that the caller may call, and is never shared between callers (cacheScope "private").
//   - A call is one request of the caller's throttle; batches, which would be many, are refused.
//   - What an operation refuses is the tool's answer with isError, with the object that a client of the interface
//     gets, so that a model can read the key and do better.
package mcp
