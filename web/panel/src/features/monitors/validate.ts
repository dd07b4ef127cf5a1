import { localTime, utcTime } from "~/i18n/localtime";

import type { Monitor, Settings } from "./api";

export const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

type Window = NonNullable<Settings["maintenance_windows"]>[number];

interface WindowForm {
  key: string;
  kind: "weekly" | "once";
  days: string[];
  from: string;
  to: string;
  timezone: string;
  starts_at: string;
  ends_at: string;
}

interface HeaderForm {
  key: string;
  name: string;
  value: string;
  /** It is there, with a value that nobody is shown. */
  kept: boolean;
}

/** What the form of a monitor holds: numbers as they are typed, lists as text. */
export interface MonitorForm extends Record<string, unknown> {
  type: Monitor["type"];
  name: string;
  url: string;
  host: string;
  port: number | string;
  keyword: string;
  keyword_mode: "present" | "absent";
  json_path: string;
  json_expected: string;
  dns_type: string;
  dns_expected: string;
  interval_s: string;
  service_id: string;
  channels: string[];
  method: string;
  expected_statuses: string;
  follow_redirects: boolean;
  verify_tls: boolean;
  retries: number | string;
  retry_interval_s: number | string;
  timeout_s: number | string;
  max_response_ms: number | string;
  headers: HeaderForm[];
  body: string;
  regions: string;
  quorum: number | string;
  ssl_expiry_days: string;
  domain_expiry_days: string;
  alert_after_s: string;
  reminder_every_s: string;
  windows: WindowForm[];
  tags: string;
}

let last = 0;
/** Names a row of the form, which has no id. */
const key = () => `row-${++last}`;

export const newWindow = (): WindowForm => ({
  key: key(),
  kind: "weekly",
  days: [],
  from: "02:00",
  to: "04:00",
  timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  starts_at: "",
  ends_at: "",
});

export const newHeader = (): HeaderForm => ({ key: key(), name: "", value: "", kept: false });

export const kinds = [
  "http",
  "keyword",
  "json",
  "ping",
  "tcp",
  "dns",
  "ssl",
  "domain",
  "heartbeat",
] as const satisfies readonly Monitor["type"][];

export const intervals = [60, 120, 300, 600, 1800, 3600];
export const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
export const recordTypes = ["A", "AAAA", "CAA", "CNAME", "MX", "NS", "SOA", "SRV", "TXT"];

/** Whether a kind asks the web. */
export const asksWeb = (type: Monitor["type"]) => type === "http" || type === "keyword" || type === "json";

/** Whether a kind looks at a host. */
export const asksHost = (type: Monitor["type"]) => !asksWeb(type) && type !== "heartbeat";

export const hasPort = (type: Monitor["type"]) => type === "tcp" || type === "ssl";

export const formOf = (monitor: Monitor | null): MonitorForm => ({
  type: monitor?.type ?? "http",
  name: monitor?.name ?? "",
  url: monitor?.url ?? "",
  host: monitor?.host ?? "",
  port: monitor?.port ?? "",
  keyword: monitor?.keyword ?? "",
  keyword_mode: monitor?.keyword_mode ?? "present",
  json_path: monitor?.json_path ?? "",
  json_expected: monitor?.json_expected ?? "",
  dns_type: monitor?.dns_type ?? "A",
  dns_expected: monitor?.dns_expected ?? "",
  interval_s: String(monitor?.interval_s ?? 300),
  service_id: String(monitor?.service_id ?? 0),
  channels: (monitor?.channels ?? []).map(String),
  method: monitor?.method ?? "GET",
  expected_statuses: (monitor?.expected_statuses ?? []).join(", "),
  follow_redirects: monitor?.follow_redirects ?? true,
  verify_tls: monitor?.verify_tls ?? true,
  retries: monitor?.retries ?? 1,
  retry_interval_s: monitor?.retry_interval_s ?? 30,
  timeout_s: (monitor?.timeout_ms ?? 10_000) / 1000,
  max_response_ms: monitor?.max_response_ms ?? "",
  headers: Object.keys(monitor?.headers ?? {}).map((name) => ({ ...newHeader(), name, kept: true })),
  body: monitor?.body ?? "",
  regions: (monitor?.regions ?? []).join(", "),
  quorum: monitor?.quorum ?? "",
  ssl_expiry_days: (monitor?.ssl_expiry_days ?? []).join(", "),
  domain_expiry_days: (monitor?.domain_expiry_days ?? []).join(", "),
  alert_after_s: String(monitor?.alert_after_s ?? 0),
  reminder_every_s: String(monitor?.reminder_every_s ?? 0),
  windows: (monitor?.maintenance_windows ?? []).map((window) => ({
    ...newWindow(),
    kind: window.starts_at ? "once" : "weekly",
    days: window.days ?? [],
    from: window.from ?? "",
    to: window.to ?? "",
    timezone: window.timezone ?? "",
    starts_at: localTime(window.starts_at),
    ends_at: localTime(window.ends_at),
  })),
  tags: (monitor?.tags ?? []).join(", "),
});

const windowOf = (window: WindowForm): Window =>
  window.kind === "once"
    ? { starts_at: utcTime(window.starts_at), ends_at: utcTime(window.ends_at) }
    : {
        days: window.days as Window["days"],
        from: window.from,
        to: window.to,
        timezone: window.timezone.trim() || "UTC",
      };

/** What a request says of a monitor: what its kind has a use for, and nothing else. */
export function settingsOf(form: MonitorForm): Settings {
  const { type } = form;
  const body: Settings = {
    interval_s: Number(form.interval_s),
    service_id: Number(form.service_id),
    channels: form.channels.map(Number),
    retry_interval_s: Number(form.retry_interval_s),
    alert_after_s: Number(form.alert_after_s),
    reminder_every_s: Number(form.reminder_every_s),
    maintenance_windows: form.windows.map(windowOf),
    tags: commas(form.tags),
  };
  if (form.name.trim()) body.name = form.name.trim();
  if (type === "heartbeat") return body;
  body.retries = Number(form.retries);
  body.timeout_ms = Math.round(Number(form.timeout_s) * 1000);
  body.max_response_ms = Number(form.max_response_ms);
  if (type !== "domain") {
    body.regions = words(form.regions);
    body.quorum = Number(form.quorum);
  }
  if (warnsOfCertificate(type, form.url) && form.ssl_expiry_days.trim())
    body.ssl_expiry_days = words(form.ssl_expiry_days).map(Number);
  if (type === "domain" && form.domain_expiry_days.trim())
    body.domain_expiry_days = words(form.domain_expiry_days).map(Number);
  if (asksHost(type)) body.host = form.host.trim();
  if (hasPort(type) && form.port !== "") body.port = Number(form.port);
  if (asksWeb(type)) {
    body.url = form.url.trim();
    body.method = form.method as Settings["method"];
    body.expected_statuses = words(form.expected_statuses);
    body.follow_redirects = form.follow_redirects;
    body.verify_tls = form.verify_tls;
    body.body = sendsBody(form.method) ? form.body : "";
    body.headers = Object.fromEntries(
      form.headers
        .filter(({ name }) => name.trim() !== "")
        .map(({ name, value, kept }) => [name.trim(), kept && value === "" ? null : value]),
    );
  }
  if (type === "keyword") {
    body.keyword = form.keyword;
    body.keyword_mode = form.keyword_mode;
  }
  if (type === "json") {
    body.json_path = form.json_path.trim();
    if (form.json_expected !== "") body.json_expected = form.json_expected;
  }
  if (type === "dns") {
    body.dns_type = form.dns_type;
    body.dns_expected = form.dns_expected.trim();
  }
  return body;
}

/** Words as they are typed, such as codes and ranges: "200-299, 301". */
export const words = (text: string) => text.split(/[\s,;]+/).filter(Boolean);

/** Tags as they are typed; one may have spaces. */
const commas = (text: string) =>
  text
    .split(/[,;]/)
    .map((one) => one.trim())
    .filter(Boolean);

export const sendsBody = (method: string) => method !== "GET" && method !== "HEAD";

/** Whether the end of a certificate is warned of. */
export const warnsOfCertificate = (type: Monitor["type"], url: string) =>
  type === "ssl" || (asksWeb(type) && url.trim().startsWith("https://"));

export function urlProblem(text: string): "url.empty" | "url.wrong" | null {
  if (text.trim() === "") return "url.empty";
  try {
    const { protocol, username, hostname } = new URL(text.trim());
    return (protocol === "http:" || protocol === "https:") && !username && hostname ? null : "url.wrong";
  } catch {
    return "url.wrong";
  }
}

export function hostProblem(text: string): "host.empty" | "host.wrong" | null {
  if (text.trim() === "") return "host.empty";
  return /[\s/@?#]/.test(text.trim()) ? "host.wrong" : null;
}

export const statusesProblem = (text: string): "statuses.wrong" | null =>
  words(text).every((one) => /^[1-5]\d\d(-[1-5]\d\d)?$/.test(one)) ? null : "statuses.wrong";

export const daysProblem = (text: string): "days.wrong" | null =>
  words(text).length <= 10 && words(text).every((one) => /^\d{1,3}$/.test(one) && Number(one) > 0)
    ? null
    : "days.wrong";

/** A header's name is a token of RFC 9110. */
export const headerProblem = (name: string): "header.wrong" | null =>
  name.trim() === "" || /^[\w!#$%&'*+.^`|~-]+$/.test(name.trim()) ? null : "header.wrong";

export const endProblem = (start: string, end: string): "window.empty" | "window.order" | null => {
  if (!start || !end) return "window.empty";
  return end > start ? null : "window.order";
};
