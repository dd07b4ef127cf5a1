package logs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"
)

// distinct counts different values without storing them: HyperLogLog with 2^11 registers, whose error is about 2%; small
// numbers are counted by the registers that are empty, almost exactly.
type distinct []byte

const (
	registerBits = 11
	registers    = 1 << registerBits
)

// add counts a value, by its hash with the key.
func (d distinct) add(key []byte, value string) distinct {
	if len(d) != registers {
		d = make(distinct, registers)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(value))
	hash := binary.BigEndian.Uint64(mac.Sum(nil))
	rank := byte(bits.LeadingZeros64(hash<<registerBits|1<<(registerBits-1))) + 1 //nolint:gosec // 53 at most
	if at := hash >> (64 - registerBits); d[at] < rank {
		d[at] = rank
	}
	return d
}

// count estimates how many different values were added.
func (d distinct) count() int64 {
	if len(d) != registers {
		return 0
	}
	sum, empty := 0.0, 0
	for _, rank := range d {
		sum += math.Ldexp(1, -int(rank))
		if rank == 0 {
			empty++
		}
	}
	const alpha = 0.7213 / (1 + 1.079/registers)
	estimate := alpha * registers * registers / sum
	if estimate <= 2.5*registers && empty > 0 {
		estimate = registers * math.Log(registers/float64(empty))
	}
	return int64(math.Round(estimate))
}
