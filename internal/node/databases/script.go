package databases

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"stead.dev/stead/internal/port/panel"
)

// statementBytes is the longest statement of a script, what MariaDB takes at most.
const statementBytes = 64 << 20

// text reads a script by bytes and counts lines.
type text struct {
	r    *bufio.Reader
	line int
	buf  bytes.Buffer // the statement
}

func newText(r io.Reader) text { return text{r: bufio.NewReaderSize(r, 64<<10), line: 1} }

// take moves the next byte into the statement, except space before its beginning.
func (t *text) take() (byte, error) {
	c, err := t.r.ReadByte()
	if err != nil {
		return 0, err
	}
	if c == '\n' {
		t.line++
	}
	if t.buf.Len() >= statementBytes {
		return 0, fmt.Errorf("%w: line %d: a statement is longer than %d bytes", panel.ErrInvalid, t.line, statementBytes)
	}
	if t.buf.Len() == 0 && (c == ' ' || '\t' <= c && c <= '\r') {
		return c, nil
	}
	return c, t.buf.WriteByte(c)
}

// ahead reports whether the text continues with s.
func (t *text) ahead(s string) bool {
	next, _ := t.r.Peek(len(s)) // less at the end
	return string(next) == s
}

// unfinished is the failure of a script that ends within what.
func (t *text) unfinished(err error, what string) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the script ends within %s", panel.ErrInvalid, what)
	}
	return err
}

// quoted takes the text after an opening quote up to the closing one. A doubled quote needs no care: it ends one text
// and begins another.
func (t *text) quoted(quote byte, backslash bool) error {
	for {
		c, err := t.take()
		if err != nil {
			return t.unfinished(err, "a quoted text")
		}
		switch {
		case c == quote:
			return nil
		case c == '\\' && backslash:
			if _, err := t.take(); err != nil {
				return t.unfinished(err, "a quoted text")
			}
		}
	}
}

// toEndOfLine takes a comment.
func (t *text) toEndOfLine() error {
	for {
		switch c, err := t.take(); {
		case errors.Is(err, io.EOF):
			return nil // the last line needs no end
		case err != nil:
			return err
		case c == '\n':
			return nil
		}
	}
}

// mysqlScript splits a script for MySQL into its statements.
type mysqlScript struct {
	text
	delimiter string
}

func newMySQLScript(r io.Reader) *mysqlScript { return &mysqlScript{text: newText(r), delimiter: ";"} }

// next returns a statement without its delimiter; io.EOF when there are no more. It follows the client's command
// DELIMITER; other commands go to the server, which refuses them.
func (s *mysqlScript) next() (string, error) {
	for {
		s.buf.Reset()
		err := s.statement()
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if statement := strings.TrimSpace(s.buf.String()); statement != "" {
			return statement, nil
		}
		if err != nil {
			return "", err
		}
	}
}

func (s *mysqlScript) statement() error {
	executed := 0 // depth of comments whose content is executed
	for {
		if s.delimiter != "" && executed == 0 && s.ahead(s.delimiter) {
			_, err := s.r.Discard(len(s.delimiter))
			return err
		}
		if s.buf.Len() == 0 {
			if done, err := s.command(); done || err != nil {
				return err
			}
		}
		c, err := s.take()
		if err != nil {
			return err
		}
		switch {
		case c == '\'' || c == '"' || c == '`':
			err = s.quoted(c, c != '`')
		case c == '#', c == '-' && s.dash():
			err = s.dropped(s.toEndOfLine)
		case c == '/' && (s.ahead("*!") || s.ahead("*M!")):
			executed++
		case c == '/' && s.ahead("*"):
			err = s.dropped(s.comment)
		case c == '*' && executed > 0 && s.ahead("/"):
			executed--
		}
		if err != nil {
			return err
		}
	}
}

// dropped leaves a comment, whose first byte was taken, out of the statement: comments alone are no statement.
func (t *text) dropped(comment func() error) error {
	before := t.buf.Len() - 1
	err := comment()
	t.buf.Truncate(before)
	if before > 0 {
		t.buf.WriteByte('\n')
	}
	return err
}

// dash reports whether the dash that was taken begins a comment.
func (s *mysqlScript) dash() bool {
	next, _ := s.r.Peek(2)
	return len(next) > 0 && next[0] == '-' && (len(next) == 1 || next[1] <= ' ')
}

func (s *mysqlScript) comment() error {
	if _, err := s.take(); err != nil { // the star
		return err
	}
	for {
		c, err := s.take()
		if err != nil {
			return s.unfinished(err, "a comment")
		}
		if c == '*' && s.ahead("/") {
			_, err := s.take()
			return err
		}
	}
}

const delimiterCommand = "delimiter"

// command follows DELIMITER where a statement would begin.
func (s *mysqlScript) command() (done bool, err error) {
	next, _ := s.r.Peek(len(delimiterCommand) + 1)
	if len(next) <= len(delimiterCommand) || !strings.EqualFold(string(next[:len(delimiterCommand)]), delimiterCommand) ||
		next[len(delimiterCommand)] != ' ' && next[len(delimiterCommand)] != '\t' {
		return false, nil
	}
	s.buf.Reset()
	if err := s.toEndOfLine(); err != nil {
		return false, err
	}
	fields := strings.Fields(s.buf.String())
	s.buf.Reset()
	if len(fields) != 2 || len(fields[1]) > 16 || strings.ContainsAny(fields[1], "\\'\"`") {
		return false, fmt.Errorf("%w: line %d: no delimiter", panel.ErrInvalid, s.line)
	}
	s.delimiter = fields[1]
	return true, nil
}

// postgresScript splits a script for PostgreSQL into its statements.
type postgresScript struct{ text }

func newPostgresScript(r io.Reader) *postgresScript { return &postgresScript{newText(r)} }

// postgresStatement is a statement, and whether its data follow in the script.
type postgresStatement struct {
	sql  string
	copy bool
}

// next returns a statement; io.EOF when there are no more. It skips the two psql commands that pg_dump writes, and
// refuses others, because a script with them relies on an effect that would not happen.
func (s *postgresScript) next() (postgresStatement, error) {
	for {
		s.buf.Reset()
		words, err := s.statement()
		if err != nil && !errors.Is(err, io.EOF) {
			return postgresStatement{}, err
		}
		if sql := strings.TrimSpace(s.buf.String()); sql != "" {
			return postgresStatement{sql, words.copyFromStdin()}, nil
		}
		if err != nil {
			return postgresStatement{}, err
		}
	}
}

// words are the words of a statement, in lower case and without quoted ones, as far as they matter.
type words struct {
	first    []string
	stdin    bool // FROM STDIN
	last     string
	depth    int // of BEGIN ATOMIC … END, in which statements end without ending the whole
	function bool
}

func (w *words) add(word string) {
	word = strings.ToLower(word)
	if len(w.first) < 4 {
		w.first = append(w.first, word)
		if len(w.first) > 1 && w.first[0] == "create" && (word == "function" || word == "procedure") {
			w.function = true
		}
	}
	switch {
	case w.last == "from" && word == "stdin":
		w.stdin = true
	case w.function && word == "atomic" && w.last == "begin":
		w.depth++
	case w.depth > 0 && word == "case":
		w.depth++
	case w.depth > 0 && word == "end":
		w.depth--
	}
	w.last = word
}

func (w words) copyFromStdin() bool { return len(w.first) > 0 && w.first[0] == "copy" && w.stdin }

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (s *postgresScript) statement() (w words, err error) {
	var word []byte
	parens := 0
	for {
		next, _ := s.r.Peek(1)
		inWord := len(next) > 0 && wordByte(next[0]) && (next[0] != '$' || len(word) > 0)
		if !inWord && len(word) > 0 && (len(next) == 0 || next[0] != '\'') {
			w.add(string(word))
			word = word[:0]
		}
		if len(next) > 0 && next[0] == '\\' {
			if err := s.meta(); err != nil {
				return w, err
			}
			continue
		}
		c, err := s.take()
		if err != nil {
			return w, err
		}
		switch {
		case inWord:
			word = append(word, c)
		case c == '\'':
			err = s.quoted('\'', string(word) == "e" || string(word) == "E")
			word = word[:0]
		case c == '"':
			err = s.quoted('"', false)
			w.last = ""
		case c == '$':
			err = s.dollar()
		case c == '-' && s.ahead("-"):
			err = s.dropped(s.toEndOfLine)
		case c == '/' && s.ahead("*"):
			err = s.dropped(s.nested)
		case c == '(':
			parens++
		case c == ')':
			parens--
		case c == ';' && parens <= 0 && w.depth == 0:
			s.buf.Truncate(s.buf.Len() - 1)
			return w, nil
		}
		if err != nil {
			return w, err
		}
	}
}

// meta skips a psql command that pg_dump writes.
func (s *postgresScript) meta() error {
	before, line := s.buf.Len(), s.line
	err := s.toEndOfLine()
	command := strings.Fields(string(s.buf.Bytes()[before:]))
	s.buf.Truncate(before)
	if err != nil {
		return err
	}
	if len(command) == 2 && (command[0] == `\restrict` || command[0] == `\unrestrict`) && before == 0 {
		return nil
	}
	return fmt.Errorf("%w: line %d: psql's commands are not run", panel.ErrInvalid, line)
}

const tagBytes = 64

// dollar takes a text quoted by $tag$, whose first dollar was taken. A dollar that begins none stands for itself.
func (s *postgresScript) dollar() error {
	next, _ := s.r.Peek(tagBytes)
	end := bytes.IndexByte(next, '$')
	if end < 0 {
		return nil
	}
	for i, c := range next[:end] {
		if !wordByte(c) || i == 0 && '0' <= c && c <= '9' {
			return nil
		}
	}
	rest := string(next[:end+1]) // what follows the first dollar, at the beginning and at the end
	if err := s.takeAll(len(rest)); err != nil {
		return err
	}
	for {
		c, err := s.take()
		if err != nil {
			return s.unfinished(err, "a quoted text")
		}
		if c == '$' && s.ahead(rest) {
			return s.takeAll(len(rest))
		}
	}
}

func (s *postgresScript) takeAll(n int) error {
	for range n {
		if _, err := s.take(); err != nil {
			return s.unfinished(err, "a quoted text")
		}
	}
	return nil
}

// nested takes a comment whose slash was taken; comments may contain comments.
func (s *postgresScript) nested() error {
	if _, err := s.take(); err != nil { // the star
		return err
	}
	for depth := 1; depth > 0; {
		c, err := s.take()
		if err != nil {
			return s.unfinished(err, "a comment")
		}
		switch {
		case c == '*' && s.ahead("/"):
			depth--
		case c == '/' && s.ahead("*"):
			depth++
		default:
			continue
		}
		if _, err := s.take(); err != nil {
			return s.unfinished(err, "a comment")
		}
	}
	return nil
}

// data are the lines that follow a COPY … FROM STDIN, up to the one that is \. alone. The rest of the
// line of the statement is not of them.
func (s *postgresScript) data() (io.Reader, error) {
	rest, err := s.r.ReadString('\n')
	if err != nil || strings.TrimSpace(rest) != "" {
		return nil, fmt.Errorf("%w: line %d: data begin on a line of their own", panel.ErrInvalid, s.line)
	}
	s.line++
	return &copyData{from: &s.text}, nil
}

type copyData struct {
	from  *text
	left  []byte // of what was read
	inner bool   // a line goes on
	ended bool
}

func (c *copyData) Read(p []byte) (int, error) {
	for len(c.left) == 0 {
		if c.ended {
			return 0, io.EOF
		}
		// A piece of a line when it is longer than the buffer; it is used before the next is read.
		piece, err := c.from.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return 0, c.from.unfinished(err, "data")
		}
		if !c.inner && (string(piece) == "\\.\n" || string(piece) == "\\.\r\n") {
			c.from.line++
			c.ended = true
			continue
		}
		if c.inner = err != nil; !c.inner {
			c.from.line++
		}
		c.left = piece
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}
