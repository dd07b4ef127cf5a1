package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// portNames are the services of a hosting machine that have a port.
var portNames = []string{
	"http", "https", "ftp", "ssh", "mariadb", "postgresql",
	"smtp", "submission", "submissions", "imap", "imaps", "pop3", "pop3s", "sieve", "submit", "signin",
}

// Ports are those of node_ports by the name of their service; one that is not there is the usual one.
// The setting has been validated.
func (c Config) Ports() map[string]int {
	ports, _ := parsePorts(c.NodePorts)
	return ports
}

func parsePorts(list []string) (map[string]int, error) {
	ports := map[string]int{}
	for _, entry := range list {
		name, number, ok := strings.Cut(strings.TrimSpace(entry), "=")
		port, err := strconv.Atoi(number)
		switch {
		case !ok || err != nil || port < 1 || port > 65535:
			return nil, fmt.Errorf("%q is not a name and a port, as http=8081", entry)
		case !slices.Contains(portNames, name):
			return nil, fmt.Errorf("%q is none of %s", name, strings.Join(portNames, ", "))
		case ports[name] != 0:
			return nil, fmt.Errorf("%s is given twice", name)
		}
		ports[name] = port
	}
	return ports, nil
}

// userPrefix: what Linux user names may begin with, and short enough to leave room for the rest.
func userPrefix(text string) error {
	if len(text) > 8 || text[0] < 'a' || text[0] > 'z' || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return fmt.Errorf("%q is not a lower-case letter with at most seven letters and digits after it", text)
	}
	return nil
}
