package bank_test

import (
	"testing"

	"stead.dev/stead/internal/port/gateway"
	"stead.dev/stead/internal/port/gateway/bank"
	"stead.dev/stead/internal/port/gateway/gatewaytest"
)

func TestBank(t *testing.T) {
	gatewaytest.Run(t, func(*testing.T) gateway.Gateway { return bank.New("Stead LLC, account 1") })
}
