import { expect, test } from "vitest";

import type { Finding } from "./api";
import { counts, inOrder, monthBefore, pageOf } from "./remedy";

test.each([
  ["POST /api/v1/services/7/ssl", "certificates"],
  ["PATCH /api/v1/services/7/domains/{hosted_domain}", "domains"],
  ["PUT /api/v1/services/7/files/content", "files"],
  ["POST /api/v1/services/7/dns", "dns"],
  ["POST /api/v1/services/7/unheard-of", null],
  [null, null],
])("what %j mends is done on the page %j", (operation, page) => {
  expect(pageOf(operation)).toBe(page);
});

test("findings stand with what failed first, the worst above", () => {
  const finding = (key: string, status: Finding["status"], severity: Finding["severity"]) =>
    ({ key, status, severity }) as Finding;
  const list = [
    finding("a", "pass", "critical"),
    finding("b", "warn", "high"),
    finding("c", "fail", "low"),
    finding("d", "fail", "high"),
  ];
  expect(inOrder(list).map(({ key }) => key)).toEqual(["d", "c", "b", "a"]);
});

test("severities without findings are left out", () => {
  expect(counts({ critical: 0, high: 2, medium: 0, low: 1, info: 0 })).toEqual([
    { severity: "high", count: 2 },
    { severity: "low", count: 1 },
  ]);
});

test("months go back over the year, by UTC", () => {
  const now = new Date("2027-01-31T23:30:00Z");
  expect([0, 1, 13].map((back) => monthBefore(now, back))).toEqual(["2027-01", "2026-12", "2025-12"]);
});
