package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Prompt is a task that a person gives a model with these tools.
type Prompt struct {
	Name, Title, Description string
	// Arguments are named in Text in braces, as {service}.
	Arguments []Argument
	Text      string
	// Needs are the tools without which the prompt is not offered.
	Needs []string
}

// Argument is a word that a person fills in. All are required.
type Argument struct{ Name, Description string }

// maxArgument bounds the text of an argument in bytes.
const maxArgument = 500

// addPrompts adds the prompts for which a caller has the tools.
func (e *Endpoint) addPrompts(s *sdk.Server, tools map[string]*tool) {
prompts:
	for _, p := range e.cfg.Prompts {
		for _, name := range p.Needs {
			if tools[name] == nil {
				continue prompts
			}
		}
		described := &sdk.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			described.Arguments = append(described.Arguments, &sdk.PromptArgument{Name: a.Name, Description: a.Description, Required: true})
		}
		s.AddPrompt(described, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return p.fill(req.Params.Arguments)
		})
	}
}

// fill puts the arguments into the text.
func (p Prompt) fill(given map[string]string) (*sdk.GetPromptResult, error) {
	var pairs []string
	for _, a := range p.Arguments {
		value := strings.TrimSpace(given[a.Name])
		if value == "" || len(value) > maxArgument {
			return nil, &jsonrpc.Error{
				Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("the argument %s needs 1 to %d characters", a.Name, maxArgument),
			}
		}
		pairs = append(pairs, "{"+a.Name+"}", value)
	}
	text := strings.NewReplacer(pairs...).Replace(p.Text)
	return &sdk.GetPromptResult{
		Description: p.Description,
		Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}},
	}, nil
}
