/** A record as it is typed: all members are texts. */
export interface Draft extends Record<string, unknown> {
  name: string;
  type: string;
  value: string;
  ttl: string;
  priority: string;
  weight: string;
  port: string;
  flags: string;
  tag: string;
}

export const types = [
  "A",
  "AAAA",
  "CNAME",
  "MX",
  "TXT",
  "ALIAS",
  "SRV",
  "CAA",
  "NS",
  "PTR",
  "SSHFP",
  "TLSA",
  "DS",
] as const;

export type Field = "name" | "value" | "ttl" | "priority" | "weight" | "port" | "flags" | "tag";

/** Members that only some types have, beside name, value and TTL. */
export const extras: Partial<Record<string, Field[]>> = {
  MX: ["priority"],
  SRV: ["priority", "weight", "port"],
  CAA: ["flags", "tag"],
};

export type Problem =
  | "problem.name"
  | "problem.name_service"
  | "problem.name_ds"
  | "problem.name_cname"
  | "problem.ttl"
  | "problem.number"
  | "problem.flags"
  | "problem.ipv4"
  | "problem.ipv6"
  | "problem.host"
  | "problem.host_address"
  | "problem.text_empty"
  | "problem.text_long"
  | "problem.text_lines"
  | "problem.text_quotes"
  | "problem.caa_issuer"
  | "problem.caa_report"
  | "problem.sshfp"
  | "problem.tlsa"
  | "problem.ds";

const label = /^(?!-)[a-z0-9_\-\u0080-\uffff]{1,63}(?<!-)$/i;

const isName = (text: string) => text.length <= 253 && text.split(".").every((part) => label.test(part));

/** The name of a record: @, *, or labels, a star first only; a last dot makes it absolute. */
const isOwner = (text: string) => {
  if (text === "" || text === "@" || text === "*") return true;
  return isName(text.replace(/^\*\./, "").replace(/\.$/, ""));
};

const isNumber = (text: string, most: number) => /^\d{1,5}$/.test(text) && Number(text) <= most;

const isIpv4 = (text: string) =>
  /^(\d{1,3}\.){3}\d{1,3}$/.test(text) && text.split(".").every((part) => String(Number(part)) === part && +part < 256);

const isIpv6 = (text: string) => {
  if (!/^[0-9a-f:.]+$/i.test(text) || !text.includes(":")) return false;
  try {
    new URL(`http://[${text}]/`);
    return true;
  } catch {
    return false;
  }
};

function host(text: string, none = false): Problem | null {
  if (none && text === ".") return null;
  if (isIpv4(text) || isIpv6(text)) return "problem.host_address";
  const name = text.replace(/\.$/, "");
  if (name === "@") return null;
  return isName(name) && !/(^|\.)\d+$/.test(name) ? null : "problem.host";
}

const hex = (lengths: Record<string, number>, parts: RegExp, at: number) => (text: string) => {
  const found = parts.exec(text.trim());
  if (!found) return false;
  const digits = (found.at(-1) ?? "").replace(/\s/g, "");
  const length = lengths[found[at] ?? ""];
  return digits.length > 0 && digits.length % 2 === 0 && (length === undefined || digits.length === length);
};
const isSshfp = hex({ 1: 40, 2: 64 }, /^[12346] ([12]) ([0-9a-f\s]+)$/i, 1);
const isTlsa = hex({ 1: 64, 2: 128 }, /^[0-3] [01] ([012]) ([0-9a-f\s]+)$/i, 1);
const isDs = hex({ 1: 40, 2: 64, 4: 96 }, /^\d{1,5} \d{1,3} ([124]) ([0-9a-f\s]+)$/i, 1);

function caa(tag: string, text: string): Problem | null {
  if (tag === "iodef") return /^(mailto:\S+@\S+|https?:\/\/\S+)$/.test(text) ? null : "problem.caa_report";
  const name = text.split(";")[0]?.trim() ?? "";
  return name === "" || (isName(name) && name.includes(".")) ? null : "problem.caa_issuer";
}

function text(value: string): Problem | null {
  if (value === "") return "problem.text_empty";
  if (/^".*"$/.test(value)) return "problem.text_quotes";
  if (/[\u0000-\u001f\u007f]/.test(value)) return "problem.text_lines";
  return new TextEncoder().encode(value).length > 4096 ? "problem.text_long" : null;
}

function value(draft: Draft): Problem | null {
  const typed = draft.value.trim();
  switch (draft.type) {
    case "A":
      return isIpv4(typed) ? null : "problem.ipv4";
    case "AAAA":
      return isIpv6(typed) ? null : "problem.ipv6";
    case "MX":
    case "SRV":
      return host(typed, true);
    case "TXT":
      return text(draft.value);
    case "CAA":
      return caa(draft.tag, typed);
    case "SSHFP":
      return isSshfp(typed) ? null : "problem.sshfp";
    case "TLSA":
      return isTlsa(typed) ? null : "problem.tlsa";
    case "DS":
      return isDs(typed) ? null : "problem.ds";
    default:
      return host(typed);
  }
}

function name(draft: Draft): Problem | null {
  const typed = draft.name.trim();
  if (!isOwner(typed)) return "problem.name";
  if ((draft.type === "SRV" || draft.type === "TLSA") && !/^(_[^.]+|\*)\._[^.]+/.test(typed))
    return "problem.name_service";
  const apex = typed === "" || typed === "@";
  if (draft.type === "DS" && (apex || typed.startsWith("*"))) return "problem.name_ds";
  return draft.type === "CNAME" && apex ? "problem.name_cname" : null;
}

/** What is wrong with a draft, by member. The server remains the judge. */
export function problems(draft: Draft): Partial<Record<Field, Problem>> {
  const found: Partial<Record<Field, Problem | null>> = { name: name(draft), value: value(draft) };
  if (!/^\d+$/.test(draft.ttl) || +draft.ttl < 60 || +draft.ttl > 86400) found.ttl = "problem.ttl";
  for (const field of extras[draft.type] ?? []) {
    if (field === "flags") found.flags = ["0", "128"].includes(draft.flags) ? null : "problem.flags";
    else if (field !== "tag") found[field] = isNumber(draft[field], 65535) ? null : "problem.number";
  }
  return Object.fromEntries(Object.entries(found).filter(([, problem]) => problem));
}

/** A draft as the body of a request: its members by their kinds, those of its type only. */
export function bodyOf(draft: Draft) {
  const has = (field: Field) => extras[draft.type]?.includes(field);
  const count = (field: "priority" | "weight" | "port" | "flags") => (has(field) ? { [field]: +draft[field] } : {});
  return {
    name: draft.name.trim() || "@",
    value: draft.type === "TXT" ? draft.value : draft.value.trim(),
    ttl: +draft.ttl,
    ...count("priority"),
    ...count("weight"),
    ...count("port"),
    ...count("flags"),
    ...(has("tag") ? { tag: draft.tag } : {}),
  };
}

interface Values {
  name: string;
  type: string;
  value: string;
  ttl: number;
  priority: number | null;
  weight: number | null;
  port: number | null;
  flags: number | null;
  tag: string | null;
}

/** A record as a draft. */
export const draftOf = (record: Values): Draft => ({
  name: record.name,
  type: record.type,
  value: record.value,
  ttl: String(record.ttl),
  priority: String(record.priority ?? 10),
  weight: String(record.weight ?? 0),
  port: String(record.port ?? ""),
  flags: String(record.flags ?? 0),
  tag: record.tag ?? "issue",
});

/** What a new record begins with. */
export const newDraft = (): Draft =>
  draftOf({ name: "", type: "A", value: "", ttl: 3600, priority: 10, weight: 0, port: null, flags: 0, tag: null });
