package htaccess

import "strings"

// Unknown stands for a directive that Apache does not have: the first word of a line of any text, which may be a secret.
const Unknown = "…"

// IsName reports whether name is one that Rule.Directive can have.
func IsName(name string) bool {
	spelling, known := spellings[strings.ToLower(name)]
	return name == Unknown || known && spelling == name
}

// spell is the name of a directive or a section as Apache spells it.
func spell(word string) string {
	if name, ok := spellings[strings.TrimSuffix(strings.ToLower(word), ">")]; ok {
		return name
	}
	return Unknown
}

// spellings are the names by their lower-case forms. Sections are known without and with the bracket that ends them.
var spellings = func() map[string]string {
	all := map[string]string{}
	for name := range strings.FieldsSeq(directives) {
		all[strings.ToLower(name)] = name
	}
	for name := range strings.FieldsSeq(sections) {
		all["<"+strings.ToLower(name)] = "<" + name + ">"
		all["<"+strings.ToLower(name)+">"] = "<" + name + ">"
	}
	return all
}()

// sections are those that a .htaccess file may have.
const sections = `Else ElseIf Files FilesMatch If IfDefine IfDirective IfFile IfModule IfSection IfVersion Limit LimitExcept RequireAll
	RequireAny RequireNone`

// directives are those that a .htaccess file may have: of Apache 2.2 and 2.4, of PHP's module, and of the modules and servers that
// hosting companies add.
const directives = `AcceptPathInfo Action AddAlt AddAltByEncoding AddAltByType AddCharset AddDefaultCharset AddDescription AddEncoding
	AddHandler AddIcon AddIconByEncoding AddIconByType AddInputFilter AddLanguage AddOutputFilter AddOutputFilterByType AddType
	Allow AllowMethods AllowOverride Anonymous Anonymous_LogEmail Anonymous_MustGiveEmail Anonymous_NoUserID Anonymous_VerifyEmail
	AuthBasicAuthoritative AuthBasicFake AuthBasicProvider AuthBasicUseDigestAlgorithm AuthDBDUserPWQuery AuthDBDUserRealmQuery
	AuthDBMGroupFile AuthDBMType AuthDBMUserFile AuthDigestAlgorithm AuthDigestDomain AuthDigestNonceLifetime AuthDigestProvider
	AuthDigestQop AuthFormAuthoritative AuthFormLoginRequiredLocation AuthFormProvider AuthGroupFile AuthLDAPBindDN
	AuthLDAPBindPassword AuthLDAPGroupAttribute AuthLDAPURL AuthMerging AuthName AuthType AuthUserFile AuthzDBMType
	AuthzSendForbiddenOnFailure BrowserMatch BrowserMatchNoCase BufferSize CacheDisable CacheEnable CacheLookup CGIMapExtension
	CGIPassAuth CGIVar CharsetDefault CharsetOptions CharsetSourceEnc CheckCaseOnly CheckSpelling ContentDigest CookieDomain
	CookieExpires CookieHTTPOnly CookieName CookieSameSite CookieSecure CookieStyle CookieTracking Define DefaultIcon
	DefaultLanguage DefaultType DeflateCompressionLevel Deny DirectoryCheckHandler DirectoryIndex DirectoryIndexRedirect
	DirectorySlash EnableMMAP EnableSendfile Error ErrorDocument ExpiresActive ExpiresByType ExpiresDefault FallbackResource
	FcgidWrapper FileETag ForceType ForensicLog GeoIPEnable GeoIPScanProxyHeaders H2EarlyHints H2PushResource Header HeaderName
	HttpProtocolOptions ImapBase ImapDefault ImapMenu Include IndexHeadInsert IndexIgnore IndexIgnoreReset IndexOptions
	IndexOrderDefault IndexStyleSheet InputSed ISAPIAppendLogToErrors ISAPIAppendLogToQuery KeepAlive LanguagePriority
	LDAPReferralHopLimit LDAPReferrals LimitRequestBody LimitXMLRequestBody LsapiChildren LuaCodeCache LuaMapHandler LuaPackagePath
	MetaDir MetaFiles MetaSuffix MimeMagicFile ModPagespeed ModPagespeedDisableFilters ModPagespeedDisallow
	ModPagespeedEnableFilters ModPagespeedRewriteLevel MultiviewsMatch NoCache Options Order OutputSed PassengerAppEnv
	PassengerAppLogFile PassengerAppRoot PassengerAppType PassengerBaseURI PassengerEnabled PassengerNodejs PassengerPython
	PassengerRuby PassengerStartupFile PassEnv PerlHandler PerlSetVar php_admin_flag php_admin_value php_flag php_value
	ProxyAddHeaders ProxyErrorOverride QualifyRedirectURL ReadmeName Redirect RedirectMatch RedirectPermanent RedirectTemp
	ReflectorHeader RemoveCharset RemoveEncoding RemoveHandler RemoveInputFilter RemoveLanguage RemoveOutputFilter RemoveType
	RequestHeader Require RewriteBase RewriteCond RewriteEngine RewriteFile RewriteMap RewriteOptions RewriteRule RLimitCPU
	RLimitMEM RLimitNPROC Satisfy ScriptInterpreterSource SecFilterEngine SecFilterScanPOST SecRule SecRuleEngine SecRuleRemoveById
	ServerSignature Session SessionCookieName SessionEnv SessionExclude SessionInclude SessionMaxAge SetEnv SetEnvIf SetEnvIfExpr
	SetEnvIfNoCase SetHandler SetInputFilter SetOutputFilter SSIEndTag SSIErrorMsg SSIETag SSILastModified SSIStartTag SSITimeFormat
	SSIUndefinedEcho SSLCipherSuite SSLOptions SSLRenegBufferSize SSLRequire SSLRequireSSL SSLUserName SSLVerifyClient SSLVerifyDepth
	Substitute SubstituteInheritBefore SubstituteMaxLineLength suPHP_ConfigPath SymbolicLink TimeOut UnDefine UnsetEnv UseCanonicalName
	XBitHack xml2EncDefault xml2StartParse`
