package module

import (
	"errors"
	"fmt"
	"reflect"
)

// Complete returns an error that names each field of needs that nobody has set: an interface, a function, a pointer, a
// map or a channel that is nil, an element of a list or a map of such, and a list of such that is nil. Values of
// other kinds, such as texts, numbers and lists of them, may be empty. needs are structs.
//
// An interface that holds a struct, such as an adapter around another section, is looked into. An embedded
// struct is too. What a pointer points to, and other fields that are structs, are not: these are settings, of which each
// section knows what may be empty.
func Complete(needs ...any) error {
	var errs []error
	for _, n := range needs {
		v := reflect.ValueOf(n)
		if v.Kind() != reflect.Struct {
			return fmt.Errorf("module: the needs of a section are a struct, not %T", n)
		}
		errs = append(errs, missing(v, v.Type().String())...)
	}
	return errors.Join(errs...)
}

// missing lists what is nil in v.
func missing(v reflect.Value, at string) (errs []error) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			return missing(v.Elem(), at)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if value.Kind() != reflect.Struct || field.Anonymous { // a struct that is not embedded is settings
				errs = append(errs, missing(value, at+"."+field.Name)...)
			}
		}
		return errs
	case reflect.Slice:
		if !required(v.Type().Elem()) {
			return nil
		}
		for i := range v.Len() {
			errs = append(errs, missing(v.Index(i), fmt.Sprintf("%s[%d]", at, i))...)
		}
		if !v.IsNil() {
			return errs
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			errs = append(errs, missing(v.MapIndex(key), fmt.Sprintf("%s[%v]", at, key))...)
		}
		if !v.IsNil() {
			return errs
		}
	case reflect.Func, reflect.Pointer, reflect.Chan:
		if !v.IsNil() {
			return nil
		}
	default:
		return nil
	}
	return []error{fmt.Errorf("%s is not set", at)}
}

// required tells whether a value of the type can be nil, and must not be.
func required(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Func, reflect.Pointer, reflect.Chan, reflect.Map:
		return true
	default:
		return false
	}
}
