package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	stead "stead.dev/stead/sdk/go"
)

// model is a resource's values, with a field for each attribute of the schema.
type model interface {
	// ident is the resource's own id, null before it is made.
	ident() types.Int64
}

// kind is a kind of resource: its schema, and what it does with the API. M is a pointer to its values.
type kind[T any, M interface {
	*T
	model
}] struct {
	name   string
	schema schema.Schema
	// imported are the attributes, all numbers, that the id of an import consists of, with slashes between.
	imported []string

	// create makes the resource from the plan and completes it. Config is what was written, with the write-only values that
	// a plan does not have. After an error, a plan with an id is kept, as what has to be made anew.
	create func(ctx context.Context, c *clients, plan M, config M) (warning string, err error)
	// read completes a state that has its ids. The error is errGone when the resource is not there any more.
	read func(ctx context.Context, c *clients, state M) error
	// update brings the resource from the state to the plan and completes it.
	update func(ctx context.Context, c *clients, state M, plan M, config M) (warning string, err error)
	// remove deletes it. The warning says what remains.
	remove func(ctx context.Context, c *clients, state M) (warning string, err error)
}

func (k kind[T, M]) resource() resource.Resource { return &adapter[T, M]{kind: k} }

// adapter makes a kind a resource of the plugin framework.
type adapter[T any, M interface {
	*T
	model
}] struct {
	kind    kind[T, M]
	clients *clients
}

func (a *adapter[T, M]) Metadata(_ context.Context, _ resource.MetadataRequest, answer *resource.MetadataResponse) {
	answer.TypeName = "stead_" + a.kind.name
}

func (a *adapter[T, M]) Schema(_ context.Context, _ resource.SchemaRequest, answer *resource.SchemaResponse) {
	answer.Schema = a.kind.schema
}

func (a *adapter[T, M]) Configure(_ context.Context, request resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if request.ProviderData != nil { // it is nil before the provider is configured
		a.clients = request.ProviderData.(*clients)
	}
}

func (a *adapter[T, M]) Create(ctx context.Context, request resource.CreateRequest, answer *resource.CreateResponse) {
	plan, config := M(new(T)), M(new(T))
	answer.Diagnostics.Append(request.Plan.Get(ctx, plan)...)
	answer.Diagnostics.Append(request.Config.Get(ctx, config)...)
	if answer.Diagnostics.HasError() {
		return
	}
	planned := *plan
	warning, err := a.kind.create(ctx, a.clients, plan, config)
	keepPlanned((*T)(plan), &planned)
	tell(&answer.Diagnostics, "create", warning, err)
	if err == nil || !plan.ident().IsNull() && !plan.ident().IsUnknown() {
		answer.Diagnostics.Append(answer.State.Set(ctx, plan)...)
	}
}

func (a *adapter[T, M]) Read(ctx context.Context, request resource.ReadRequest, answer *resource.ReadResponse) {
	state := M(new(T))
	answer.Diagnostics.Append(request.State.Get(ctx, state)...)
	if answer.Diagnostics.HasError() {
		return
	}
	err := a.kind.read(ctx, a.clients, state)
	if gone(err) || a.ended(ctx, state, err) {
		answer.State.RemoveResource(ctx)
		return
	}
	tell(&answer.Diagnostics, "read", "", err)
	if err == nil {
		answer.Diagnostics.Append(answer.State.Set(ctx, state)...)
	}
}

func (a *adapter[T, M]) Update(ctx context.Context, request resource.UpdateRequest, answer *resource.UpdateResponse) {
	state, plan, config := M(new(T)), M(new(T)), M(new(T))
	answer.Diagnostics.Append(request.State.Get(ctx, state)...)
	answer.Diagnostics.Append(request.Plan.Get(ctx, plan)...)
	answer.Diagnostics.Append(request.Config.Get(ctx, config)...)
	if answer.Diagnostics.HasError() {
		return
	}
	planned := *plan
	warning, err := a.kind.update(ctx, a.clients, state, plan, config)
	keepPlanned((*T)(plan), &planned)
	tell(&answer.Diagnostics, "change", warning, err)
	if err == nil {
		answer.Diagnostics.Append(answer.State.Set(ctx, plan)...)
	}
}

func (a *adapter[T, M]) Delete(ctx context.Context, request resource.DeleteRequest, answer *resource.DeleteResponse) {
	state := M(new(T))
	answer.Diagnostics.Append(request.State.Get(ctx, state)...)
	if answer.Diagnostics.HasError() {
		return
	}
	warning, err := a.kind.remove(ctx, a.clients, state)
	if gone(err) || a.ended(ctx, state, err) {
		return
	}
	tell(&answer.Diagnostics, "delete", warning, err)
}

func (a *adapter[T, M]) ImportState(ctx context.Context, request resource.ImportStateRequest, answer *resource.ImportStateResponse) {
	parts := strings.Split(request.ID, "/")
	for i, name := range a.kind.imported {
		n, err := strconv.ParseInt(parts[min(i, len(parts)-1)], 10, 64)
		if err != nil || len(parts) != len(a.kind.imported) {
			answer.Diagnostics.AddError("The id cannot be imported",
				fmt.Sprintf("The id of a stead_%s is %s, each a number; %q is none.", a.kind.name, strings.Join(a.kind.imported, "/"), request.ID))
			return
		}
		answer.Diagnostics.Append(answer.State.SetAttribute(ctx, path.Root(name), n)...)
	}
}

// errGone is the error of reading what is not there any more.
var errGone = errors.New("it is not there any more")

// gone tells whether an error says so. The status 404 alone does not: sections that are switched off and proxies answer it too.
func gone(err error) bool { return errors.Is(err, errGone) || stead.HasKey(err, stead.KeyNotFound) }

// dependent is the model of a resource that a service consists of.
type dependent interface{ service() types.Int64 }

// ended tells whether a refusal means that the service has ended, and with it the resource.
func (a *adapter[T, M]) ended(ctx context.Context, m M, refusal error) bool {
	d, ok := any(m).(dependent)
	if !ok || !stead.HasKey(refusal, stead.KeyServiceNotActive) {
		return false
	}
	api, err := a.clients.customer()
	if err != nil {
		return false
	}
	s, err := api.Services.Get(ctx, d.service().ValueInt64())
	return gone(err) || err == nil && isOver(s)
}

// keepPlanned puts the values that were planned into a model that the server has completed. Terraform calls another value
// inconsistent and replaces the resource; in the state, the planned one is compared with the server's by the next refresh.
func keepPlanned[T any](completed, planned *T) {
	to, from := reflect.ValueOf(completed).Elem(), reflect.ValueOf(planned).Elem()
	for i := range from.NumField() {
		if v, ok := from.Field(i).Interface().(attr.Value); ok && !v.IsUnknown() {
			to.Field(i).Set(from.Field(i))
		}
	}
}

// tell adds what went wrong to the diagnostics, at the attributes where the server names them.
func tell(diagnostics *diag.Diagnostics, what, warning string, err error) {
	if warning != "" {
		diagnostics.AddWarning("Not everything was done", warning)
	}
	if err == nil {
		return
	}
	summary, detail := "Stead could not "+what+" it", err.Error()
	var refused *stead.Error
	if !errors.As(err, &refused) {
		diagnostics.AddError(summary, detail)
		return
	}
	request := ""
	if refused.RequestID != "" {
		request = " (request " + refused.RequestID + ")"
	}
	for field, wrong := range refused.Fields {
		diagnostics.AddAttributeError(path.Root(field), summary, strings.Join(wrong, "; ")+request)
	}
	if len(refused.Fields) == 0 {
		diagnostics.AddError(summary, detail+request)
	}
}

// perPage is how many items a page of a list has at most.
const perPage = 50

// find returns the first item of a list that is the one. It searches twice: an item that is deleted while the list is read moves
// the ones behind it, and one of them may go to a page that was read already.
func find[T any](items iter.Seq2[T, error], is func(T) bool) (T, error) {
	for range 2 {
		for item, err := range items {
			if err != nil || is(item) {
				return item, err
			}
		}
	}
	var none T
	return none, errGone
}

// patience is how long a resource waits until the server's machines have followed.
const patience = 10 * time.Minute

// errLate is the error of waiting too long.
var errLate = fmt.Errorf("it is still on its way after %s", patience)

// until asks each second, until the answer is that it is done. The context of a question ends with the patience.
func until(ctx context.Context, done func(ctx context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errLate)
	defer cancel()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		ok, err := done(ctx)
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if ok || err != nil {
			return err
		}
		select {
		case <-second.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// failure is the error of something that the server could not make.
func failure(key *string) error {
	if key == nil {
		return errors.New("it failed")
	}
	return fmt.Errorf("it failed: %s", *key)
}

// errGoneOr is err, or errGone when there is none.
func errGoneOr(err error) error {
	if err != nil {
		return err
	}
	return errGone
}

// untilGone asks each second, until get says that it is not there any more.
func untilGone(ctx context.Context, get func(ctx context.Context) error) error {
	return until(ctx, func(ctx context.Context) (bool, error) {
		err := get(ctx)
		if gone(err) {
			return true, nil
		}
		return false, err
	})
}
