package provider

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// use says who gives an attribute its value, and what another value means.
type use int

const (
	required use = iota // written
	fixed               // written; another value replaces the resource
	optional            // written, or left as the server has it
	chosen              // written, or chosen by the server when it is made; another value replaces the resource
	computed            // the server's, and stays
	moving              // the server's, and changes
)

func number(u use, text string) schema.Int64Attribute {
	a := schema.Int64Attribute{
		Description: text, Required: u == required || u == fixed, Optional: u == optional || u == chosen,
		Computed: u != required && u != fixed,
	}
	if u == fixed || u == chosen {
		a.PlanModifiers = []planmodifier.Int64{int64planmodifier.RequiresReplaceIfConfigured()}
	}
	if a.Computed && u != moving {
		a.PlanModifiers = append(a.PlanModifiers, int64planmodifier.UseStateForUnknown())
	}
	return a
}

func text(u use, description string) schema.StringAttribute {
	a := schema.StringAttribute{
		Description: description, Required: u == required || u == fixed, Optional: u == optional || u == chosen,
		Computed: u != required && u != fixed,
	}
	if u == fixed || u == chosen {
		a.PlanModifiers = []planmodifier.String{replacedByOther()}
	}
	if a.Computed && u != moving {
		a.PlanModifiers = append(a.PlanModifiers, stringplanmodifier.UseStateForUnknown())
	}
	return a
}

// replacedByOther is the plan modifier of texts of which another one replaces the resource, and another spelling does not. All of them
// are names and words that the server compares as names.
func replacedByOther() planmodifier.String {
	description := "Another one replaces the resource."
	return stringplanmodifier.RequiresReplaceIf(func(_ context.Context, request planmodifier.StringRequest, answer *stringplanmodifier.RequiresReplaceIfFuncResponse) {
		isChosen := request.ConfigValue.IsNull() && request.PlanValue.IsUnknown() // by the server
		answer.RequiresReplace = !isChosen && normalName(request.PlanValue.ValueString()) != normalName(request.StateValue.ValueString())
	}, description, description)
}

func flag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{
		Description: description, Optional: true, Computed: true,
		PlanModifiers: []planmodifier.Bool{boolplanmodifier.UseStateForUnknown()},
	}
}

func set(of attr.Type, u use, description string) schema.SetAttribute {
	a := schema.SetAttribute{ElementType: of, Description: description, Optional: u == optional, Computed: true}
	if u != moving {
		a.PlanModifiers = []planmodifier.Set{setplanmodifier.UseStateForUnknown()}
	}
	return a
}

// secret is a value that is sent and kept nowhere: neither in the plan nor in the state. Version beside it says when it
// has changed.
func secret(isRequired bool, description string) schema.StringAttribute {
	return schema.StringAttribute{Description: description, Required: isRequired, Optional: !isRequired, WriteOnly: true}
}

func version(of string) schema.Int64Attribute {
	return schema.Int64Attribute{Optional: true, Description: "Raise it when " + of + " has changed: Terraform does not keep it, so it cannot see that."}
}

// int64Of returns a number that is known, for members that may be left out.
func int64Of(v types.Int64) *int64 {
	if v.IsUnknown() {
		return nil
	}
	return v.ValueInt64Pointer()
}

func stringOf(v types.String) *string {
	if v.IsUnknown() {
		return nil
	}
	return v.ValueStringPointer()
}

func boolOf(v types.Bool) *bool {
	if v.IsUnknown() {
		return nil
	}
	return v.ValueBoolPointer()
}

// itemsOf returns the items of a set, and nil when it is not known.
func itemsOf[T any](ctx context.Context, v types.Set) []T {
	if v.IsNull() || v.IsUnknown() {
		return nil
	}
	items := make([]T, 0, len(v.Elements()))
	v.ElementsAs(ctx, &items, false) // the schema says the type
	return items
}

func stringSet(items []string) types.Set {
	values := make([]attr.Value, len(items))
	for i, item := range items {
		values[i] = types.StringValue(item)
	}
	return types.SetValueMust(types.StringType, values)
}

func numberSet(items []int64) types.Set {
	values := make([]attr.Value, len(items))
	for i, item := range items {
		values[i] = types.Int64Value(item)
	}
	return types.SetValueMust(types.Int64Type, values)
}

// moment is a time in RFC 3339, and null when there is none.
func moment(at *time.Time) types.String {
	if at == nil {
		return types.StringNull()
	}
	return types.StringValue(at.UTC().Format(time.RFC3339))
}

// changed returns the planned value where it differs from the state's.
func changed(state, plan types.String) *string {
	if plan.Equal(state) {
		return nil
	}
	return stringOf(plan)
}

// cut splits an address at its last @.
func cut(address string) (local, domain string) {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address, ""
	}
	return address[:at], address[at+1:]
}

// afterUser is what stands behind the user name of a service's account, which has no underscore, in the name of a database.
func afterUser(name string) string {
	if _, rest, ok := strings.Cut(name, "_"); ok {
		return rest
	}
	return name
}
