module stead.dev/stead/sdk/go

go 1.25.0
