package whois

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	answers := map[string]string{
		"free.example":  "% terms\r\nNo match for \"FREE.EXAMPLE\".\r\n",
		"taken.example": "Domain Name: TAKEN.EXAMPLE\r\nNotice: no match for your quota\r\n",
		"busy.example":  "Query rate exceeded\r\n",
		"both.example":  "No match for others\r\nDomain: both.example\r\n",
		"empty.example": "",
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(c).ReadString('\n')
			_, _ = io.WriteString(c, answers[strings.TrimSpace(line)])
			_ = c.Close()
		}
	}()
	s := New(func(_ context.Context, name string) Server {
		if name == "nowhere.example" {
			return Server{}
		}
		return Server{l.Addr().String(), "No match for"}
	})
	yes, no := true, false
	for name, want := range map[string]*bool{
		"free.example": &yes, "taken.example": &no, "busy.example": nil, "both.example": nil, "empty.example": nil, "nowhere.example": nil,
	} {
		got, err := s.Lookup(t.Context(), name)
		if (got.Available == nil) != (want == nil) || want != nil && *want != *got.Available {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}
