-- Rules of this machine, for rspamd. The section "stead" of the configuration names the directories.
--
-- A login's file says as which addresses it may write, and the selectors of the keys of its domains. It is read for
-- each message, so that a change of a mailbox needs no reload.

local logger = require "rspamd_logger"
local ucl = require "ucl"
local util = require "rspamd_util"

local options = rspamd_config:get_all_opt("stead")

local function read(path)
  local file = io.open(path, "r")
  if not file then return nil end
  local text = file:read("*a")
  file:close()
  return text
end

-- hex is the name of a login's file: a login may contain characters that mean something in a path.
local function hex(s)
  return (s:gsub(".", function(c) return string.format("%02x", string.byte(c)) end))
end

-- login returns what a login may do, or nil.
local function login(task)
  local text = read(options.logins .. "/" .. hex(task:get_user():lower()))
  if not text then return nil end
  local parser = ucl.parser()
  local ok, err = parser:parse_string(text)
  if not ok then
    logger.errx(task, "the file of login %s: %s", task:get_user(), err)
    return nil
  end
  return parser:get_object()
end

-- without removes quoted strings and comments (RFC 5322, 3.2). It returns nil when one of them has no end.
local function without(value)
  local out, quoted, depth, i = {}, false, 0, 1
  while i <= #value do
    local c = value:sub(i, i)
    if c == "\\" and (quoted or depth > 0) then
      i = i + 1
    elseif quoted then
      quoted = c ~= '"'
    elseif c == "(" then
      depth = depth + 1
    elseif c == ")" and depth > 0 then
      depth = depth - 1
    elseif depth == 0 and c == '"' then
      quoted = true
    elseif depth == 0 then
      out[#out + 1] = c
    end
    i = i + 1
  end
  if quoted or depth > 0 then return nil end
  return table.concat(out)
end

local function may(access, address)
  address = address:lower()
  local user, domain = address:match("^([^@]+)@([^@]+)$")
  if not user then return false end
  local base = user:match("^([^+]+)%+")
  for _, allowed in ipairs(access.addresses or {}) do
    if allowed == address or base and allowed == base .. "@" .. domain then return true end
  end
  for _, allowed in ipairs(access.domains or {}) do
    if allowed == domain then return true end
  end
  return false
end

-- refusal returns why a login may not send a message with these From headers. Everything that a mail program could
-- take for an address must be one of the login's, so also an address in an unquoted name.
local function refusal(access, headers)
  if #headers ~= 1 then return "the message needs exactly one From header" end
  local value = without(headers[1].value or "")
  if not value then return "the From header is malformed" end
  local found = false
  for word in value:gmatch("[^%s<>,;:]+") do
    if word:find("@", 1, true) then
      if not may(access, word) then
        return "the From header must be an address of the login, and " .. word:gsub("[^%w@.+_-]", "?") .. " is not"
      end
      found = true
    end
  end
  if not found then return "the From header has no address" end
  return nil
end

rspamd_config:register_symbol {
  name = "STEAD_FROM",
  type = "prefilter",
  priority = 10,
  callback = function(task)
    if not task:get_user() then return end
    local access = login(task)
    if not access then
      task:set_pre_result("soft reject", "the login cannot be checked now, try again later", "stead")
      return
    end
    local reason = refusal(access, task:get_header_full("From") or {})
    if reason then task:set_pre_result("reject", reason, "stead") end
  end,
}

-- key returns the parameters by which a domain's mail is signed.
local function key(access, domain)
  local selector = (access.selectors or {})[domain]
  if not selector then return nil end
  local raw = read(options.keys .. "/" .. domain .. "." .. selector)
  return raw and { domain = domain, selector = selector, rawkey = raw }
end

-- arc_key returns the key of the domain that a message is for.
local function arc_key(task)
  local rcpt = task:get_recipients("smtp")
  local domain = rcpt and rcpt[1] and rcpt[1].domain
  if not domain then return nil end
  domain = domain:lower()
  if not domain:match("^[a-z0-9.-]+$") then return nil end
  for _, path in ipairs(util.glob(options.keys .. "/" .. domain .. ".stead-*")) do
    local raw = read(path)
    local selector = path:match("%.(stead%-[^./]+)$")
    if raw and selector then return { domain = domain, selector = selector, rawkey = raw } end
  end
end

stead = {
  arc = function(task)
    if task:get_user() or task:has_pre_result() then return false end
    return arc_key(task) or false
  end,
  -- dkim decides the signature of an outgoing message: by the domain of its From header, which was checked, or of its
  -- envelope.
  dkim = function(task)
    if not task:get_user() or task:has_pre_result() then return false end
    local access = login(task)
    if not access then return false end
    for _, kind in ipairs { "mime", "smtp" } do
      local from = task:get_from(kind)
      if from and from[1] and from[1].domain then
        local found = key(access, from[1].domain:lower())
        if found then return found end
      end
    end
    return false
  end,
}
