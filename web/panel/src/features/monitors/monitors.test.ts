import { expect, test } from "vitest";

import { ceiling, draw, samples, type Sample } from "./chart";
import type { Monitor } from "./api";
import {
  daysProblem,
  endProblem,
  formOf,
  headerProblem,
  hostProblem,
  newHeader,
  newWindow,
  settingsOf,
  statusesProblem,
  urlProblem,
  words,
} from "./validate";

test.each([
  ["https://shop.example.com/", null],
  ["", "url.empty"],
  ["shop.example.com", "url.wrong"],
  ["ftp://shop.example.com", "url.wrong"],
  ["https://me:secret@shop.example.com/", "url.wrong"],
])("the address %j", (text, problem) => {
  expect(urlProblem(text)).toBe(problem);
});

test.each([
  ["mx.example.com", null],
  ["2001:db8::1", null],
  [" ", "host.empty"],
  ["https://example.com", "host.wrong"],
])("the host %j", (text, problem) => {
  expect(hostProblem(text)).toBe(problem);
});

test("codes and ranges", () => {
  expect(words("200-299, 301")).toEqual(["200-299", "301"]);
  expect(statusesProblem("200-299, 301")).toBeNull();
  expect(statusesProblem("")).toBeNull();
  expect(statusesProblem("2xx")).toBe("statuses.wrong");
});

test("a request holds what its kind has a use for", () => {
  const form = { ...formOf(null), name: " ", url: "https://a.example/", host: "b.example", keyword: "left" };
  expect(settingsOf(form)).toMatchObject({ url: "https://a.example/", retries: 1, timeout_ms: 10_000 });
  expect(settingsOf(form)).not.toHaveProperty("host");
  expect(settingsOf(form)).not.toHaveProperty("keyword");
  expect(settingsOf(form)).not.toHaveProperty("name");
  expect(settingsOf({ ...form, type: "heartbeat" })).toEqual({
    interval_s: 300,
    service_id: 0,
    channels: [],
    retry_interval_s: 30,
    alert_after_s: 0,
    reminder_every_s: 0,
    maintenance_windows: [],
    tags: [],
  });
  expect(settingsOf({ ...form, type: "tcp", port: 25 })).toMatchObject({ host: "b.example", port: 25 });
  expect(settingsOf({ ...form, type: "ssl", port: "" })).not.toHaveProperty("port");
});

test("headers that are there keep their values, and windows their kinds", () => {
  const form = formOf({
    type: "http",
    url: "https://a.example/",
    method: "POST",
    body: "{}",
    headers: { Authorization: null, "X-Old": null },
    regions: ["control"],
    ssl_expiry_days: [14, 1],
    maintenance_windows: [
      { days: ["sun"], from: "02:00", to: "04:00", timezone: "Asia/Tashkent" },
      { starts_at: "2026-12-01T10:00:00Z", ends_at: "2026-12-01T12:00:00Z" },
    ],
    tags: ["my shop"],
  } as unknown as Monitor);
  form.headers = [...form.headers.slice(0, 1), { ...newHeader(), name: " X-New ", value: "1" }, newHeader()];
  expect(settingsOf(form)).toMatchObject({
    headers: { Authorization: null, "X-New": "1" },
    body: "{}",
    regions: ["control"],
    quorum: 0,
    ssl_expiry_days: [14, 1],
    maintenance_windows: [
      { days: ["sun"], from: "02:00", to: "04:00", timezone: "Asia/Tashkent" },
      { starts_at: "2026-12-01T10:00:00.000Z", ends_at: "2026-12-01T12:00:00.000Z" },
    ],
    tags: ["my shop"],
  });
  expect(settingsOf({ ...form, method: "GET" }).body).toBe("");
  expect(settingsOf({ ...form, url: "http://a.example/" })).not.toHaveProperty("ssl_expiry_days");
  expect(newWindow().kind).toBe("weekly");
});

test("days, headers and windows as they are typed", () => {
  expect(daysProblem("30, 14, 7, 1")).toBeNull();
  expect(daysProblem("")).toBeNull();
  expect(daysProblem("a week")).toBe("days.wrong");
  expect(headerProblem("X-Key")).toBeNull();
  expect(headerProblem("X Key:")).toBe("header.wrong");
  expect(endProblem("2026-12-01T10:00", "2026-12-01T12:00")).toBeNull();
  expect(endProblem("2026-12-01T10:00", "2026-12-01T10:00")).toBe("window.order");
  expect(endProblem("", "")).toBe("window.empty");
});

test.each([
  [0, 10],
  [10, 10],
  [11, 20],
  [420, 500],
  [1001, 2000],
])("an axis for %d ends at %d", (most, end) => {
  expect(ceiling(most)).toBe(end);
});

const sample = (hour: number, mean: number | null, down = 0): Sample => ({
  at: hour * 3_600_000,
  length: 3_600_000,
  mean,
  least: mean,
  most: mean,
  down,
});

test("the line of response times has a gap where nothing was measured", () => {
  const { line, outages, most } = draw([sample(0, 100), sample(1, 50), sample(2, null, 1), sample(3, 100)]);
  expect(most).toBe(100);
  expect(line).toBe("M125.0 0.0L375.0 100.0M875.0 0.0h0.1");
  expect(outages).toEqual([{ x: 500, width: 250, part: 1 }]);
  expect(draw([sample(0, 100), sample(5, 100)]).line.match(/M/g)).toHaveLength(2);
  expect(draw([])).toEqual({ line: "", band: "", outages: [], most: 10 });
});

test("a young monitor is drawn by its checks", () => {
  const check = (checked_at: string, status: "up" | "down", response_ms: number | null) =>
    ({ checked_at, status, response_ms }) as Parameters<typeof samples>[0]["checks"][number];
  const story = {
    history: { range: "24h" as const, step_s: 3600, uptime: null, points: [] },
    checks: [check("2026-11-26T10:05:00Z", "down", null), check("2026-11-26T10:00:00Z", "up", 40)],
  };
  expect(samples(story).map(({ mean, down }) => [mean, down])).toEqual([
    [40, 0],
    [null, 1],
  ]);
});
