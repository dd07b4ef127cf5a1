package archive

import (
	"io"
	"strings"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

func TestHashesThatMailServersTake(t *testing.T) {
	const tail = "abcdefghijklmnopqrstuOABCDEFGHIJKLMNOPQRSTUVWXYZ01234"
	long := strings.Repeat("a", 86)
	for text, want := range map[string]string{
		"{BLF-CRYPT}$2y$10$" + tail: "{BLF-CRYPT}$2y$10$" + tail, "$2a$05$" + tail: "{BLF-CRYPT}$2a$05$" + tail,
		"{CRYPT}$6$salt$" + long: "{SHA512-CRYPT}$6$salt$" + long, "$6$rounds=5000$salt$" + long: "{SHA512-CRYPT}$6$rounds=5000$salt$" + long,
		"{BLF-CRYPT}$2y$31$" + tail: "", "$6$rounds=999999999$salt$" + long: "", // would take minutes at each sign-in
		"{MD5}$1$a$b": "", "{PLAIN}secret": "", "": "", "!": "", "{BLF-CRYPT}$2y$10$" + tail + "\n": "", "$6$salt$" + long + ":0:0": "",
		"{ARGON2ID}$argon2id$v=19$m=65536,t=3,p=1$c29tZXNhbHQ$" + strings.Repeat("A", 43):    "{ARGON2ID}$argon2id$v=19$m=65536,t=3,p=1$c29tZXNhbHQ$" + strings.Repeat("A", 43),
		"{ARGON2ID}$argon2id$v=19$m=99999999,t=3,p=1$c29tZXNhbHQ$" + strings.Repeat("A", 43): "",
	} {
		if got := PasswordHash(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestDumpsAreMadePortable(t *testing.T) {
	for _, c := range []struct {
		engine     panel.DatabaseEngine
		text, want string
	}{
		{panel.MariaDB, "CREATE DATABASE `x`;\nUSE `x`;\nCREATE TABLE a;\n", "\n\nCREATE TABLE a;\n"},
		{panel.MariaDB, "/*!50013 DEFINER=`alice`@`localhost` SQL SECURITY DEFINER */\n", "/*!50013 SQL SECURITY DEFINER */\n"},
		{panel.MariaDB, ") COLLATE=utf8mb4_0900_ai_ci;\n", ") COLLATE=utf8mb4_unicode_520_ci;\n"},
		{panel.MariaDB, "INSERT INTO a VALUES ('utf8mb4_0900_ai_ci');\n('DEFINER=`a`@`b` ');\n", "INSERT INTO a VALUES ('utf8mb4_0900_ai_ci');\n('DEFINER=`a`@`b` ');\n"},
		{panel.MariaDB, "SET @@SESSION.SQL_LOG_BIN= 0;\n", "\n"},
		{panel.MariaDB, strings.Repeat("x", 200_000) + "\nUSE a;", strings.Repeat("x", 200_000) + "\n\n"},
		{
			panel.PostgreSQL, "ALTER TABLE ONLY public.a DROP CONSTRAINT a_pkey;\nDROP TABLE public.a;\nDROP SCHEMA public;\nCREATE SCHEMA public;\nCREATE TABLE public.a (b text);\nINSERT INTO public.a VALUES ('\nDROP TABLE x;\n');\n",
			"ALTER TABLE IF EXISTS public.a DROP CONSTRAINT IF EXISTS a_pkey;\nDROP TABLE IF EXISTS public.a;\n\n\nCREATE TABLE public.a (b text);\nINSERT INTO public.a VALUES ('\nDROP TABLE x;\n');\n",
		},
	} {
		got, err := io.ReadAll(Portable(c.engine, io.NopCloser(strings.NewReader(c.text))))
		if err != nil || string(got) != c.want {
			t.Errorf("%.80q becomes %.200q, %v", c.text, got, err)
		}
	}
}

func TestTextsOfZoneFiles(t *testing.T) {
	if got := QuoteText(`a "b" \c ` + "é"); got != `"a \"b\" \\c \195\169"` {
		t.Errorf("%s", got)
	}
	if got := QuoteText(strings.Repeat("a", 300)); got != `"`+strings.Repeat("a", 255)+`" "`+strings.Repeat("a", 45)+`"` {
		t.Errorf("%s", got)
	}
}
