package databases

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // the protocol of MySQL
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// What of MySQL's protocol the agent reads: the packets by which a client signs in.
const (
	mysqlMost        = 64 << 10 // bytes of such a packet
	mysqlOK          = 0x00
	mysqlSwitch      = 0xfe // the server wants another proof, for a salt of its own
	mysqlError       = 0xff
	capWithDatabase  = 1 << 3
	capTLS           = 1 << 11
	capSecure        = 1 << 15
	capPluginLenEnc  = 1 << 21
	mysqlProof       = sha1.Size
	mysqlNativeLogin = "mysql_native_password"
)

var errProtocol = errors.New("databases: this is not how MySQL's clients sign in")

// packet is one of MySQL's protocol, with its four bytes of length and number.
type packet []byte

func (p packet) payload() []byte { return p[4:] }

func readPacket(r io.Reader) (packet, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if n == 0 || n > mysqlMost {
		return nil, errProtocol
	}
	p := make(packet, 4+n)
	copy(p, head[:])
	_, err := io.ReadFull(r, p[4:])
	return p, err
}

// mysqlScramble proves a password for a salt, as mysql_native_password has it.
func mysqlScramble(password string, salt []byte) []byte {
	first := sha1.Sum([]byte(password)) //nolint:gosec // as above
	second := sha1.Sum(first[:])        //nolint:gosec // as above
	h := sha1.New()                     //nolint:gosec // as above
	h.Write(salt)
	h.Write(second[:])
	proof := h.Sum(nil)
	subtle.XORBytes(proof, proof, first[:])
	return proof
}

// greeting reads the salt of the server's first packet.
func greeting(p []byte) (salt []byte, err error) {
	if p[0] != 10 {
		return nil, errProtocol
	}
	_, rest, ok := bytes.Cut(p[1:], []byte{0}) // the version
	if !ok || len(rest) < 4+8+1+18+12 {
		return nil, errProtocol
	}
	return append(bytes.Clone(rest[4:12]), rest[31:43]...), nil
}

// answer finds what a client's answer to the greeting says: its user, and where its proof stands.
func answer(p []byte) (user string, proof []byte, err error) {
	if len(p) < 33 {
		return "", nil, errProtocol
	}
	caps := binary.LittleEndian.Uint32(p)
	if caps&capTLS != 0 || caps&(capSecure|capPluginLenEnc) == 0 {
		return "", nil, errProtocol
	}
	name, rest, ok := bytes.Cut(p[32:], []byte{0})
	// A length of fewer than 251 bytes is one byte in either form.
	if !ok || len(rest) < 1+mysqlProof || rest[0] != mysqlProof {
		return "", nil, errProtocol
	}
	return string(name), rest[1 : 1+mysqlProof], nil
}

// visit signs a program in as the user whose name it says. The server judges every proof; the agent exchanges that of
// the visit's secret for one of its own password, which has the same length.
func (m *mariaDB) visit(ctx context.Context, program net.Conn, visits Visits) (_ net.Conn, ended <-chan struct{}, err error) {
	server, err := new(net.Dialer).DialContext(ctx, "unix", m.socket())
	if err != nil {
		return nil, nil, m.failure(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, server.Close())
		}
	}()
	defer interrupted(ctx, server)()
	hello, err := readPacket(server)
	if err != nil {
		return nil, nil, m.failure(err)
	}
	if hello.payload()[0] == mysqlError { // too many sessions
		_, err := program.Write(hello)
		return nil, nil, errors.Join(fmt.Errorf("mariadb: refused: %.100q", hello.payload()), err)
	}
	salt, err := greeting(hello.payload())
	if err != nil {
		return nil, nil, err
	}
	if _, err := program.Write(hello); err != nil {
		return nil, nil, err
	}
	said, err := readPacket(program)
	if err != nil {
		return nil, nil, err
	}
	user, proof, err := answer(said.payload())
	if err != nil {
		return nil, nil, err
	}
	for {
		ended, ok := visits.Visiting(user, func(secret string) bool {
			return subtle.ConstantTimeCompare(mysqlScramble(secret, salt), proof) == 1
		})
		if !ok {
			_, err := program.Write(refusal(said[3]+1, user))
			return nil, nil, errors.Join(errVisit, err)
		}
		copy(proof, mysqlScramble(derive(m.key, user), salt))
		if _, err := server.Write(said); err != nil {
			return nil, nil, m.failure(err)
		}
		judged, err := readPacket(server)
		if err != nil {
			return nil, nil, m.failure(err)
		}
		if _, err := program.Write(judged); err != nil {
			return nil, nil, err
		}
		switch judged.payload()[0] {
		case mysqlOK:
			return server, ended, nil
		case mysqlSwitch: // the first of the user's two passwords is the customer's
			plugin, again, ok := bytes.Cut(judged.payload()[1:], []byte{0})
			if !ok || string(plugin) != mysqlNativeLogin || len(again) < mysqlProof {
				return nil, nil, errProtocol
			}
			salt = again[:mysqlProof]
			if said, err = readPacket(program); err != nil {
				return nil, nil, err
			}
			if proof = said.payload(); len(proof) != mysqlProof {
				return nil, nil, errProtocol
			}
		default:
			return nil, nil, fmt.Errorf("mariadb: refused: %.100q", judged.payload())
		}
	}
}

// refusal is the server's packet for a wrong password.
func refusal(number byte, user string) []byte {
	text := append([]byte{mysqlError, 0x15, 0x04}, fmt.Sprintf("#28000Access denied for user '%.64s'", user)...) // 1045
	return append([]byte{byte(len(text)), byte(len(text) >> 8), 0, number}, text...)                             //nolint:gosec // G115: short
}
