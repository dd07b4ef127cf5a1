package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// operations writes the clients with their groups of methods.
func (g *golang) operations(all []*operation) ([]byte, error) {
	g.out.Reset()
	root := tree(g.d, all)
	reseller := root.groups["reseller"]
	delete(root.groups, "reseller")
	if len(root.methods) > 0 {
		return nil, fmt.Errorf("operations without a group: %v", root.sortedMethods())
	}
	for _, c := range []struct {
		name, comment string
		group         *group
	}{
		{"Client", "Client calls the API for a customer, by an access token. Make one with [New].", root},
		{"Reseller", "Reseller calls the API for a reseller, by an API key. Make one with [NewReseller].", reseller},
	} {
		g.printf("// %s\ntype %s struct {\n\tcaller *caller\n\n", c.comment, c.name)
		for _, w := range c.group.sortedGroups() {
			g.printf("%s %s\n", exported(w), apiName(c.group.groups[w]))
		}
		g.printf("}\n\n")
		g.assemble(c.name, c.group)
		for _, m := range c.group.sortedMethods() {
			if err := g.method(c.name, "Reseller", m, c.group.methods[m]); err != nil {
				return nil, fmt.Errorf("%s: %w", c.group.methods[m].ID, err)
			}
		}
		if err := g.groups(c.group); err != nil {
			return nil, err
		}
	}
	imports := "\"context\"\n\"iter\"\n\"net/http\"\n\"net/url\"\n\"time\"\n"
	if bytes.Contains(g.out.Bytes(), []byte("io.ReadSeeker")) {
		imports += "\"io\"\n"
	}
	return fmt.Appendf(nil, "%simport (\n%s)\n\n%s", goHeader, imports, g.out.Bytes()), nil
}

// apiName is the type of a group of methods.
func apiName(g *group) string { return prefixOf(g) + "API" }

func prefixOf(g *group) string { return exported(strings.Join(g.words, "_")) }

// assemble writes the function that gives each group its caller.
func (g *golang) assemble(client string, root *group) {
	g.printf("// assemble gives each group of methods the caller.\nfunc (c *%s) assemble() {\n", client)
	var walk func(path string, parent *group)
	walk = func(path string, parent *group) {
		for _, w := range parent.sortedGroups() {
			child := path + "." + exported(w)
			g.printf("%s.caller = c.caller\n", child)
			walk(child, parent.groups[w])
		}
	}
	walk("c", root)
	g.printf("}\n\n")
}

func (g *golang) groups(parent *group) error {
	for _, w := range parent.sortedGroups() {
		child := parent.groups[w]
		g.printf("// %s has the operations %s.\ntype %s struct {\n\tcaller *caller\n\n", apiName(child), strings.Join(child.words, ".")+".*", apiName(child))
		for _, w := range child.sortedGroups() {
			g.printf("%s %s\n", exported(w), apiName(child.groups[w]))
		}
		g.printf("}\n\n")
		for _, m := range child.sortedMethods() {
			if err := g.method(apiName(child), prefixOf(child), m, child.methods[m]); err != nil {
				return fmt.Errorf("%s: %w", child.methods[m].ID, err)
			}
		}
		if err := g.groups(child); err != nil {
			return err
		}
	}
	return nil
}

// call is what the methods of one operation have in common.
type call struct {
	o          *operation
	receiver   string
	method     string
	parameters []string // of the Go function, before its options
	path       string   // expression
	query      string   // type of the query; "" for none
	body       string   // expression; "" for none
}

func (g *golang) method(receiver, prefix, word string, o *operation) error {
	c := &call{o: o, receiver: receiver, method: exported(word)}
	c.path = goPath(o)
	for _, p := range o.parameters("path") {
		t, err := g.typeOf(p.Schema)
		if err != nil {
			return err
		}
		c.parameters = append(c.parameters, unexported(p.Name)+" "+t)
	}
	kind, body := o.body()
	switch kind {
	case "":
	case "application/json":
		if body.name() == "" {
			return fmt.Errorf("its body has no name")
		}
		c.parameters = append(c.parameters, "body "+exported(body.name()))
		c.body = "jsonBody(body)"
	case "application/octet-stream":
		c.parameters = append(c.parameters, "content io.ReadSeeker")
		c.body = "rawBody(content)"
	case "multipart/form-data":
		c.parameters = append(c.parameters, "files ...UploadFile")
		c.body = "formBody(files)"
	default:
		return fmt.Errorf("a body of %s", kind)
	}
	if len(o.parameters("query")) > 0 {
		name := prefix + c.method + "Query"
		if c.method == "List" {
			name = prefix + "Query"
		}
		if err := g.queryType(name, o); err != nil {
			return err
		}
		c.query = name
		// The files of an upload come last, because there may be any number of them.
		if at := len(c.parameters); kind == "multipart/form-data" {
			c.parameters = slices.Insert(c.parameters, at-1, "query "+name)
		} else {
			c.parameters = append(c.parameters, "query "+name)
		}
	}

	success := o.success()
	answer := success["application/json"]
	if _, ok := success["text/event-stream"]; ok {
		g.eventMethod(c, answer != nil)
	}
	for _, kind := range []string{"application/pdf", "text/dns"} {
		if _, ok := success[kind]; ok {
			g.downloadMethod(c, c.method+map[string]string{"application/pdf": "PDF", "text/dns": "BIND"}[kind], kind)
		}
	}
	switch {
	case answer == nil && success["text/event-stream"] != nil:
		return nil
	case answer == nil && len(success) == 0:
		return g.plainMethod(c, "")
	case answer == nil:
		g.downloadMethod(c, c.method, "")
		return nil
	case len(answer.OneOf) > 0:
		return g.plainMethod(c, exported(o.ID)+"Result")
	case answer.name() == "":
		return g.plainMethod(c, "")
	}
	if err := g.plainMethod(c, exported(answer.name())); err != nil {
		return err
	}
	if item := g.d.page(o); item != nil && c.method != "Get" { // Get answers more than a list
		g.pageMethod(c, exported(answer.name()), exported(item.name()))
	}
	return nil
}

// goPath is the expression of an operation's path.
func goPath(o *operation) string {
	path := fmt.Sprintf("%q", o.path)
	for _, p := range o.parameters("path") {
		value := "number(" + unexported(p.Name) + ")"
		if p.Schema.Type[0] == "string" {
			value = "url.PathEscape(" + unexported(p.Name) + ")"
		}
		path = strings.ReplaceAll(path, "{"+p.Name+"}", `" + `+value+` + "`)
	}
	return strings.TrimSuffix(path, ` + ""`)
}

func (g *golang) queryType(name string, o *operation) error {
	g.printf("// %s narrows %s. The zero value of a field leaves it out.\ntype %s struct {\n", name, o.ID, name)
	var encode strings.Builder
	for _, p := range o.parameters("query") {
		t, err := g.typeOf(p.Schema)
		if err != nil {
			return err
		}
		description := p.Description
		if values := texts(p.Schema.Enum); len(values) > 0 && len(values) < 40 {
			description += ". One of: " + strings.Join(values, ", ")
		}
		g.comment("\t", strings.ReplaceAll(description, "..", "."))
		g.printf("%s %s\n", exported(p.Name), t)
		fmt.Fprintf(&encode, "set(v, %q, q.%s)\n", p.Name, exported(p.Name))
	}
	g.printf("}\n\nfunc (q %s) values() url.Values {\nv := url.Values{}\n%sreturn v\n}\n\n", name, encode.String())
	return nil
}

// describe writes the doc comment of a method.
func (g *golang) describe(c *call, method, addition string) {
	o := c.o
	summary := strings.TrimSuffix(o.Summary, ".")
	g.comment("", method+": "+strings.ToLower(summary[:1])+summary[1:]+". "+addition)
	if o.Description != "" {
		g.printf("//\n")
		g.comment("", o.Description)
	}
	g.printf("//\n// %s %s\n", o.method, o.path)
}

func (c *call) signature(method, results string) string {
	parameters := append([]string{"ctx context.Context"}, c.parameters...)
	if n := len(parameters) - 1; !strings.Contains(parameters[n], "...") {
		parameters = append(parameters, "options ...CallOption")
	}
	return fmt.Sprintf("func (a *%s) %s(%s) %s {\n", c.receiver, method, strings.Join(parameters, ", "), results)
}

// request is the expression of the request.
func (c *call) request(more ...string) string {
	fields := []string{fmt.Sprintf("method: %s", httpMethod(c.o.method)), "path: " + c.path}
	if c.query != "" {
		fields = append(fields, "query: query.values()")
	}
	if c.body != "" {
		fields = append(fields, "body: "+c.body)
	}
	if c.o.takes("header", "Idempotency-Key") {
		fields = append(fields, "keyed: true")
	}
	if !slices.ContainsFunc(c.parameters, func(p string) bool { return strings.Contains(p, "...") }) {
		fields = append(fields, "options: options")
	}
	return "request{" + strings.Join(append(fields, more...), ", ") + "}"
}

func httpMethod(m string) string {
	return "http.Method" + m[:1] + strings.ToLower(m[1:])
}

func (g *golang) plainMethod(c *call, answer string) error {
	g.describe(c, c.method, "")
	if answer == "" {
		g.printf("%sreturn a.caller.call(ctx, %s, nil)\n}\n\n", c.signature(c.method, "error"), c.request())
		return nil
	}
	g.printf("%sanswer := new(%s)\nif err := a.caller.call(ctx, %s, answer); err != nil {\nreturn nil, err\n}\nreturn answer, nil\n}\n\n",
		c.signature(c.method, "(*"+answer+", error)"), answer, c.request())
	return nil
}

// pageMethod writes the iterator over all pages: All for List, AllX for X.
func (g *golang) pageMethod(c *call, answer, item string) {
	name := "All" + c.method
	if c.method == "List" {
		name = "All"
	}
	g.describe(c, name, "It asks for the next page when the one before has been read, and ends with the first error.")
	arguments := []string{"ctx"}
	for _, p := range c.parameters {
		n, _, _ := strings.Cut(p, " ")
		arguments = append(arguments, n)
	}
	g.printf("%sreturn pages(query.Page, func(page int64) ([]%s, int64, error) {\nquery.Page = page\nlist, err := a.%s(%s, options...)\nif err != nil {\nreturn nil, 0, err\n}\nreturn list.Data, list.Meta.LastPage, nil\n})\n}\n\n",
		c.signature(name, fmt.Sprintf("iter.Seq2[%s, error]", item)), item, c.method, strings.Join(arguments, ", "))
}

func (g *golang) downloadMethod(c *call, method, kind string) {
	addition := "The caller closes the answer."
	accept := ""
	if kind != "" {
		addition = "The answer is of the type " + kind + "; the caller closes it."
		accept = fmt.Sprintf("accept: %q", kind)
	}
	g.describe(c, method, addition)
	if kind == "text/dns" {
		g.printf("%squery.Format = \"bind\"\n", c.signature(method, "(*Download, error)"))
	} else {
		g.printf("%s", c.signature(method, "(*Download, error)"))
	}
	request := c.request()
	if accept != "" {
		request = c.request(accept)
	}
	g.printf("return a.caller.download(ctx, %s)\n}\n\n", request)
}

// eventMethod writes the iterator over server-sent events: XEvents, or Events alone.
func (g *golang) eventMethod(c *call, both bool) {
	name := c.method
	if both {
		name += "Events"
	}
	g.describe(c, name, "It yields events as they come, and connects again where they break off.")
	g.printf("%s", c.signature(name, "iter.Seq2[Event, error]"))
	if c.o.takes("query", "follow") {
		g.printf("query.Follow = true\n")
	}
	g.printf("return a.caller.events(ctx, %s)\n}\n\n", c.request())
}
