import type { Monitor, Settings } from "./api";

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
}

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
});

/** What a request says of a monitor: what its kind has a use for, and nothing else. */
export function settingsOf(form: MonitorForm): Settings {
  const { type } = form;
  const body: Settings = {
    interval_s: Number(form.interval_s),
    service_id: Number(form.service_id),
    channels: form.channels.map(Number),
    retry_interval_s: Number(form.retry_interval_s),
  };
  if (form.name.trim()) body.name = form.name.trim();
  if (type === "heartbeat") return body;
  body.retries = Number(form.retries);
  body.timeout_ms = Math.round(Number(form.timeout_s) * 1000);
  body.max_response_ms = Number(form.max_response_ms);
  if (asksHost(type)) body.host = form.host.trim();
  if (hasPort(type) && form.port !== "") body.port = Number(form.port);
  if (asksWeb(type)) {
    body.url = form.url.trim();
    body.method = form.method as Settings["method"];
    body.expected_statuses = statuses(form.expected_statuses);
    body.follow_redirects = form.follow_redirects;
    body.verify_tls = form.verify_tls;
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

/** Codes and ranges as they are typed: "200-299, 301". */
export const statuses = (text: string) => text.split(/[\s,;]+/).filter(Boolean);

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
  statuses(text).every((one) => /^[1-5]\d\d(-[1-5]\d\d)?$/.test(one)) ? null : "statuses.wrong";
