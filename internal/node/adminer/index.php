<?php
// Written by Stead; changes are lost.
//
// Adminer for one database: the agent says which, with every request, and a secret by which it lets this program in. What a
// browser says of servers, users and passwords counts for nothing.

$stead = [];
foreach (['ENGINE', 'DATABASE', 'SECRET', 'SESSION'] as $name) {
	$stead[$name] = (string) ($_SERVER["STEAD_$name"] ?? '');
	unset($_SERVER["STEAD_$name"], $_ENV["STEAD_$name"]);
}
if (!preg_match('~^[a-z0-9]{20,60}$~', $stead['SESSION']) || $stead['DATABASE'] === '' || $stead['SECRET'] === '') {
	http_response_code(403);
	exit;
}

if (isset($_POST['logout'])) {
	header('Stead-Ended: 1');
	exit;
}

// The driver is chosen by the name of a parameter.
foreach (['server', 'mysql', 'mssql', 'pgsql', 'oracle', 'sqlite', 'sqlite2', 'mongo', 'elastic', 'elastic5', 'firebird', 'simpledb',
	'clickhouse', 'imap', 'igdb', 'redis', 'username', 'db'] as $name) {
	unset($_GET[$name]);
}
unset($_POST['auth'], $_COOKIE['adminer_permanent'], $_COOKIE['adminer_key']);
$stead['DRIVER'] = $stead['ENGINE'] === 'postgresql' ? 'pgsql' : 'server';
$_GET = [$stead['DRIVER'] => 'localhost', 'username' => $stead['DATABASE'], 'db' => $stead['DATABASE']] + $_GET;
$_COOKIE['adminer_version'] = '0'; // nobody asks for the newest version

session_name('stead');
session_id($stead['SESSION']);
session_start();
$_SESSION['pwds'] = [$stead['DRIVER'] => ['localhost' => [$stead['DATABASE'] => $stead['SECRET']]]];
$_SESSION['db'] = [$stead['DRIVER'] => ['localhost' => [$stead['DATABASE'] => [$stead['DATABASE'] => true]]]];

trait SteadAdminer {
	/** @var array what the agent said */
	private $stead;

	function steadIs(array $stead) {
		$this->stead = $stead;
		return $this;
	}

	function credentials() {
		$driver = defined('DRIVER') ? DRIVER : constant('Adminer\DRIVER');
		if ($driver !== $this->stead['DRIVER']) {
			http_response_code(403);
			exit;
		}
		$sockets = dirname(__DIR__) . '/sockets';
		return [$driver === 'pgsql' ? $sockets : "localhost:$sockets/mysql.sock", $this->stead['DATABASE'], $this->stead['SECRET']];
	}

	function login($login, $password) {
		return true;
	}

	function database() {
		return $this->stead['DATABASE'];
	}

	function databases($flush = true) {
		return [$this->stead['DATABASE']];
	}

	function permanentLogin($create = false) {
		return '';
	}

	function importServerPath() {
		return '';
	}

	function loginForm() {
	}

	function csp($csp = null) {
		$nonce = function_exists('get_nonce') ? get_nonce() : call_user_func('Adminer\get_nonce');
		return [[
			'default-src' => "'none'",
			'script-src' => "'nonce-$nonce' 'strict-dynamic'",
			'style-src' => "'self' 'unsafe-inline'",
			'img-src' => "'self' data:",
			'connect-src' => "'self'",
			'form-action' => "'self'",
			'frame-ancestors' => "'none'",
			'base-uri' => "'none'",
		]];
	}
}

function adminer_object() {
	if (class_exists('Adminer\Adminer')) { // since 5
		class_alias('Adminer\Adminer', 'SteadAdminerBase');
	} else {
		class_alias('Adminer', 'SteadAdminerBase');
	}
	return (new class extends SteadAdminerBase {
		use SteadAdminer;
	})->steadIs($GLOBALS['stead']);
}

include '/usr/share/adminer/adminer.php';
