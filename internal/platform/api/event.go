package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Webhooks are the requests that this server sends to its users' addresses. They are not mounted; the OpenAPI document
// lists them under "webhooks", so that receivers can validate requests and generate code.
type Webhooks struct {
	// Envelope is the type of a whole body. Its member "type" is the event's type, and its member "data" an object
	// with the members "object" and "previous".
	Envelope reflect.Type
	// Stub is the type of "object" in "data" that replaces an object too large to send; "truncated" is true then.
	Stub reflect.Type
	// Headers are those of every request.
	Headers []Header
	Events  []Event
}

// Header is one that requests carry.
type Header struct{ Name, Doc string }

// Event is a kind of request.
type Event struct {
	// Type is the value of the body's member "type".
	Type string
	// Summary says what has happened.
	Summary string
	// Object is the type of "object" in "data".
	Object reflect.Type
}

const eventsTag = "Events"

// Send adds requests to the OpenAPI document.
func (e *Edge) Send(w Webhooks) { e.sent = append(e.sent, w) }

// webhooks describes the outgoing requests: one for each type of event.
func (e *Edge) webhooks() map[string]*huma.PathItem {
	all := map[string]*huma.PathItem{}
	for _, w := range e.sent {
		var headers []*huma.Param
		for _, h := range w.Headers {
			headers = append(headers, &huma.Param{Name: h.Name, In: "header", Description: h.Doc, Schema: &huma.Schema{Type: huma.TypeString}})
		}
		for _, v := range w.Events {
			all[v.Type] = &huma.PathItem{Post: &huma.Operation{
				OperationID: "event." + v.Type, Summary: v.Summary, Tags: []string{eventsTag}, Parameters: headers,
				RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
					"application/json": {Schema: e.eventSchema(w, v)},
				}},
				Responses: map[string]*huma.Response{
					"2XX":     {Description: "It has arrived."},
					"410":     {Description: "Nothing more is to be sent to this address."},
					"default": {Description: "It is sent again later."},
				},
				Security: []map[string][]string{},
			}}
		}
	}
	return all
}

// eventSchema is the envelope with the type and the object of the event.
func (e *Edge) eventSchema(w Webhooks, v Event) *huma.Schema {
	data := func(object reflect.Type, truncated bool) *huma.Schema {
		s := &huma.Schema{
			Type: huma.TypeObject, Required: []string{"object"},
			Properties: map[string]*huma.Schema{
				"object":    e.registry.Schema(object, true, v.Type),
				"truncated": {Type: huma.TypeBoolean, Enum: []any{truncated}},
			},
		}
		if truncated {
			s.Required = append(s.Required, "truncated")
		}
		return s
	}
	return &huma.Schema{AllOf: []*huma.Schema{
		e.registry.Schema(w.Envelope, true, v.Type),
		{Type: huma.TypeObject, Properties: map[string]*huma.Schema{
			"type": {Type: huma.TypeString, Enum: []any{v.Type}},
			"data": {AnyOf: []*huma.Schema{data(v.Object, false), data(w.Stub, true)}},
		}},
	}}
}
