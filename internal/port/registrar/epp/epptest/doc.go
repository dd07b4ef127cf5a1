// Package epptest is a registry for tests: it speaks EPP over TLS, keeps what is registered, and has every frame that
// it reads or sends judged by xmllint with the schemas of the RFCs. It shares no code with the adapter.
package epptest
