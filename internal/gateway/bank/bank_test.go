package bank_test

import (
	"testing"

	"stead.dev/stead/internal/gateway"
	"stead.dev/stead/internal/gateway/bank"
	"stead.dev/stead/internal/gateway/gatewaytest"
)

func TestBank(t *testing.T) {
	gatewaytest.Run(t, func(*testing.T) gateway.Gateway { return bank.New("Stead LLC, account 1") })
}
