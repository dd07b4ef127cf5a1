package archive

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"

	"stead.dev/stead/internal/port/panel"
)

var (
	// definer is who a view, trigger or routine runs as: a user who is not here. Without it that is who loads the dump.
	definer = regexp.MustCompile("(?i)DEFINER=`[^`\r\n]{0,80}`@`[^`\r\n]{0,255}` ?")
	// newer are collations of MySQL 8 that MariaDB does not know.
	newer = regexp.MustCompile(`(?i)\butf8mb4_0900_(?:as_ci|ai_ci|as_cs|bin)\b`)
	// beyond are statements that leave the database into which a dump is loaded, or that only an administrator may run.
	beyond = regexp.MustCompile(`(?i)^(?:CREATE DATABASE|USE |SET @@GLOBAL\.GTID_PURGED|SET @@SESSION\.SQL_LOG_BIN).{0,300};\s*$`)

	// PostgreSQL: what pg_dump --clean writes about what may not be there, and about what is not the account's.
	cleanTable = regexp.MustCompile(`(?m)^ALTER TABLE (?:ONLY )?(.{1,200}?) DROP CONSTRAINT (.{1,200})$`)
	cleanOther = regexp.MustCompile(`(?m)^ALTER TABLE (?:ONLY )?(.{1,200}?) (ALTER COLUMN .{1,200} DROP .{1,100})$`)
	clean      = regexp.MustCompile(`(?m)^DROP (MATERIALIZED VIEW|TABLE|SEQUENCE|VIEW|FUNCTION|PROCEDURE|AGGREGATE|INDEX|TYPE|DOMAIN) (.{1,300})$`)
	foreign    = regexp.MustCompile(`^(?:DROP (?:SCHEMA|EXTENSION|TRIGGER|RULE|POLICY|OPERATOR)|CREATE SCHEMA public|CREATE EXTENSION|ALTER SCHEMA|COMMENT ON (?:SCHEMA|EXTENSION)|SET transaction_timeout) ?.{0,300};\s*$`)
	definition = regexp.MustCompile(`^(?:CREATE (?:TABLE|FUNCTION|TYPE|VIEW|SEQUENCE|DOMAIN|PROCEDURE|AGGREGATE|MATERIALIZED|UNLOGGED)|INSERT |COPY )`)
)

// line bounds what is looked at as a line: those of data are far longer, and have nothing to change at their beginning.
const line = 64 << 10

// Portable reads a dump as servers here take it: loaded by the database's own user into its own database. Of MySQL and MariaDB that is
// without definers and other databases, with collations that MariaDB knows; of PostgreSQL without statements of an administrator. Data
// pass as they are.
func Portable(engine panel.DatabaseEngine, r io.ReadCloser) io.ReadCloser {
	p := &portable{from: r, r: bufio.NewReaderSize(r, line), change: mysql, passes: mysqlData}
	if engine == panel.PostgreSQL {
		p.change, p.passes = postgres, func([]byte) bool { return p.defined }
	}
	return p
}

type portable struct {
	from    io.Closer
	r       *bufio.Reader
	change  func(line []byte) []byte
	passes  func(line []byte) bool
	left    []byte
	inside  bool // in the middle of a long line
	defined bool // of PostgreSQL: what was there is cleaned, and definitions have begun
}

func (p *portable) Read(b []byte) (int, error) {
	for len(p.left) == 0 {
		piece, err := p.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && (!errors.Is(err, io.EOF) || len(piece) == 0) {
			return 0, err
		}
		long := errors.Is(err, bufio.ErrBufferFull)
		p.defined = p.defined || definition.Match(piece)
		passes := p.inside || long || p.passes(piece)
		p.inside = long
		if p.left = piece; !passes {
			p.left = p.change(piece)
		}
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

// mysqlData reports lines of data: MariaDB's dumps have a line for each row.
func mysqlData(text []byte) bool {
	return bytes.HasPrefix(text, []byte("INSERT ")) || bytes.HasPrefix(text, []byte("("))
}

func mysql(text []byte) []byte {
	if beyond.Match(text) {
		return []byte("\n")
	}
	if bytes.Contains(text, []byte("DEFINER")) {
		text = definer.ReplaceAll(text, nil)
	}
	if bytes.Contains(text, []byte("0900")) {
		text = newer.ReplaceAllFunc(text, func(name []byte) []byte {
			if bytes.HasSuffix(bytes.ToLower(name), []byte("_ai_ci")) {
				return []byte("utf8mb4_unicode_520_ci")
			}
			return []byte("utf8mb4_bin")
		})
	}
	return text
}

func postgres(text []byte) []byte {
	switch {
	case foreign.Match(text):
		return []byte("\n")
	case cleanTable.Match(text):
		return cleanTable.ReplaceAll(text, []byte("ALTER TABLE IF EXISTS ${1} DROP CONSTRAINT IF EXISTS ${2}"))
	case cleanOther.Match(text):
		return cleanOther.ReplaceAll(text, []byte("ALTER TABLE IF EXISTS ${1} ${2}"))
	case clean.Match(text):
		return clean.ReplaceAll(text, []byte("DROP ${1} IF EXISTS ${2}"))
	}
	return text
}

// Close implements io.Closer.
func (p *portable) Close() error { return p.from.Close() }
