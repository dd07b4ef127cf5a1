package nodetest

// Sources are names of files that may hold the source of a program, NoSources names that look like it.
var (
	Sources = []string{
		"x.phtml", "x.php7", "x.php5", "X.PHP", "x.Php", "x.phps", "x.pht", "x.phar", "x.PHTML", "x.inc", "db.INC",
		"a.php.bak", "a.php~", "a.php.txt", "a.php.old", "a.php.1", "a.php_copy", "a.php-old", "a.php bak", "a.inc.save", "wp-config.php.swp", "a.html.php~",
	}
	NoSources = []string{"a.php.html", "a.php.css", "x.inc.js", "php.txt", "include.txt", "a.phpx", "photo.jpg", "x.income", "aphp", "inc"}
)
