package databases

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"stead.dev/stead/internal/port/panel"
)

func TestScriptsAreTakenApart(t *testing.T) {
	mysql := func(r io.Reader) ([]string, error) {
		s := newMySQLScript(r)
		var all []string
		for {
			statement, err := s.next()
			if err != nil {
				return all, err
			}
			all = append(all, statement)
		}
	}
	postgres := func(r io.Reader) ([]string, error) {
		s := newPostgresScript(r)
		var all []string
		for {
			statement, err := s.next()
			if err != nil {
				return all, err
			}
			all = append(all, statement.sql)
			if !statement.copy {
				continue
			}
			from, err := s.data()
			if err != nil {
				return all, err
			}
			data, err := io.ReadAll(from)
			if err != nil {
				return all, err
			}
			all = append(all, "data "+string(data))
		}
	}
	for _, c := range []struct {
		name   string
		apart  func(io.Reader) ([]string, error)
		script string
		want   []string // nil: refused
	}{
		{"my", mysql, "", []string{}},
		{"my", mysql, " \n;; ;\n", []string{}},
		{"my", mysql, "a; b ;c", []string{"a", "b", "c"}},
		{"my", mysql, "a';'b; \"x;\\\"y\";`;\\`;d", []string{"a';'b", "\"x;\\\"y\"", "`;\\`", "d"}},
		{"my", mysql, "'it''s;' ; '\\';' ; e", []string{"'it''s;'", "'\\';'", "e"}},
		{"my", mysql, "-- c;\na -- c;\n b; # c;'\nd --e;\n/* ;' */ f /* ; */;", []string{"a \n b", "d --e", "f"}},
		{"my", mysql, "--;\nSELECT 1--1;-- end", []string{"--", "SELECT 1--1"}},
		{"my", mysql, "/*!40101 SET x='a;*/;' */; /*M!999999\\- enable */\nb;", []string{"/*!40101 SET x='a;*/;' */", "/*M!999999\\- enable */\nb"}},
		{"my", mysql, "DELIMITER ;;\nCREATE x; y;;\ndelimiter ;\nz;", []string{"CREATE x; y", "z"}},
		{"my", mysql, "SELECT delimiter x; DELIMITERS;", []string{"SELECT delimiter x", "DELIMITERS"}},
		{"my", mysql, "'open", nil},
		{"my", mysql, "a /* open", nil},
		{"my", mysql, "DELIMITER '\n", nil},

		{"pg", postgres, "a; b ;c", []string{"a", "b", "c"}},
		{"pg", postgres, `a';\'; E'\';' ; e'x\';'; "a;""b;" ; 'it''s;'`, []string{`a';\'`, `E'\';'`, `e'x\';'`, `"a;""b;"`, `'it''s;'`}},
		{"pg", postgres, "-- c;\na; /* ; /* ' ; */ ; */ b; $$;'$$; $x$ ; $$ ; $y$ ; $x$ c; a$1;b$;", []string{"a", "b", "$$;'$$", "$x$ ; $$ ; $y$ ; $x$ c", "a$1", "b$"}},
		{"pg", postgres, "CREATE RULE r AS DO (a; b); c;", []string{"CREATE RULE r AS DO (a; b)", "c"}},
		{
			"pg", postgres, "CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE 1 WHEN 2 THEN 3 END; SELECT 4; END; x;",
			[]string{"CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE 1 WHEN 2 THEN 3 END; SELECT 4; END", "x"},
		},
		{"pg", postgres, "BEGIN; a; END; b;", []string{"BEGIN", "a", "END", "b"}},
		{"pg", postgres, "COPY t (a) FROM stdin;\n1;\t'\n\\.x\n\\.\nb;", []string{"COPY t (a) FROM stdin", "data 1;\t'\n\\.x\n", "b"}},
		{"pg", postgres, "copy \"from stdin\" TO STDOUT; COPY t FROM STDIN WITH (FORMAT csv);\r\n\\.\r\nb", []string{"copy \"from stdin\" TO STDOUT", "COPY t FROM STDIN WITH (FORMAT csv)", "data ", "b"}},
		{"pg", postgres, "COPY t FROM stdin;\n" + strings.Repeat("x", 200_000) + "\\.\n\\.\nb", []string{"COPY t FROM stdin", "data " + strings.Repeat("x", 200_000) + "\\.\n", "b"}},
		{"pg", postgres, "\\restrict abc\na;\n\\unrestrict abc\n", []string{"a"}},
		{"pg", postgres, "COPY t FROM stdin; 1\n\\.\n", nil},
		{"pg", postgres, "COPY t FROM stdin;\n1\n", nil},
		{"pg", postgres, "a \\restrict b\n;", nil},
		{"pg", postgres, "\\! id\n", nil},
		{"pg", postgres, "SELECT 1 \\g |id\n", nil},
		{"pg", postgres, "SELECT 1 \\\\ \\! id", nil},
		{"pg", postgres, "$x$ open $y$", nil},
		{"pg", postgres, "/* /* */", nil},
	} {
		for how, r := range map[string]io.Reader{
			"": strings.NewReader(c.script), " by the byte": iotest.OneByteReader(strings.NewReader(c.script)),
		} {
			got, err := c.apart(r)
			switch {
			case c.want == nil && !errors.Is(err, panel.ErrInvalid):
				t.Errorf("%s%s %.80q: %q, %v, want a refusal", c.name, how, c.script, got, err)
			case c.want != nil && (!errors.Is(err, io.EOF) || !slices.Equal(got, c.want) && len(c.want)+len(got) > 0):
				t.Errorf("%s%s %.80q:\ngot  %.300q, %v\nwant %.300q", c.name, how, c.script, got, err, c.want)
			}
		}
		failed := errors.New("connection lost")
		if _, err := c.apart(io.MultiReader(strings.NewReader(c.script), iotest.ErrReader(failed))); !errors.Is(err, failed) && !errors.Is(err, panel.ErrInvalid) {
			t.Errorf("%s %.80q: a reader that fails: %v", c.name, c.script, err)
		}
	}
}

func FuzzScripts(f *testing.F) {
	for _, s := range []string{"a';'b;", "E'\\''; $x$ ; $x$", "COPY t FROM stdin;\n\\.\n", "DELIMITER //\nx//", "/*!1 a */;", "CREATE FUNCTION f BEGIN ATOMIC a; END;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		for s := newMySQLScript(strings.NewReader(script)); ; {
			if _, err := s.next(); err != nil {
				break
			}
		}
		for s := newPostgresScript(strings.NewReader(script)); ; {
			statement, err := s.next()
			if err != nil {
				break
			}
			if !statement.copy {
				continue
			}
			data, err := s.data()
			if err != nil {
				break
			}
			if _, err := io.Copy(io.Discard, data); err != nil {
				break
			}
		}
	})
}
