package demo_test

import (
	"testing"

	"stead.dev/stead/internal/port/gateway"
	"stead.dev/stead/internal/port/gateway/demo"
	"stead.dev/stead/internal/port/gateway/gatewaytest"
)

func TestDemo(t *testing.T) {
	gatewaytest.Run(t, func(*testing.T) gateway.Gateway { return demo.New() })
}
