package testkit

import (
	"fmt"
	"net"
	"testing"
)

func TestPortsAreGivenToOneTestEach(t *testing.T) {
	given := map[int]bool{}
	for range 200 {
		port := Port(t)
		if given[port] {
			t.Fatalf("%d was given twice", port)
		}
		given[port] = true
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		if free(t, port) {
			t.Errorf("%d is said to be free while somebody listens", port)
		}
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
