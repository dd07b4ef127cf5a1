package demo_test

import (
	"testing"

	"stead.dev/stead/internal/gateway"
	"stead.dev/stead/internal/gateway/demo"
	"stead.dev/stead/internal/gateway/gatewaytest"
)

func TestDemo(t *testing.T) {
	gatewaytest.Run(t, func(*testing.T) gateway.Gateway { return demo.New() })
}
