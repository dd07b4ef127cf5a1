import { expect, test } from "vitest";

import { cure, pageOf, tone } from "./places";

const hit = { title: "", detail: "" };
const stuck = { count: 1, oldest_id: 7, since: null };

test("what is stuck leads to the list of exactly that", () => {
  expect(cure({ ...stuck, kind: "tickets_waiting" })).toEqual({ to: "tickets", search: { status: "open" } });
  expect(cure({ ...stuck, kind: "renewals_failing" })).toEqual({
    to: "services",
    search: { attention: "renewals_failing" },
  });
  expect(cure({ ...stuck, kind: "jobs_failing" })).toEqual({
    to: "jobs",
    search: { state: "retryable", min_attempts: "3" },
  });
  expect(tone("nodes_silent")).toBe("bad");
  expect(tone("reviews_pending")).toBe("warn");
});

test("a hit leads to its own page, else to its customer", () => {
  const page = (kind: Parameters<typeof pageOf>[0]["kind"], account_id: number, mayAudit = true) =>
    pageOf({ ...hit, kind, id: 5, account_id }, "req_1", mayAudit);
  expect(page("order", 2)?.to).toBe("orders/5");
  expect(page("session", 2)?.to).toBe("customers/2");
  expect(page("request", 0)).toBeNull();
  expect(page("job", 0)).toEqual({ to: "jobs", search: { request_id: "req_1" } });
  expect(page("audit", 2)).toEqual({ to: "audit", search: { request_id: "req_1" } });
  expect(page("audit", 2, false)?.to).toBe("customers/2");
});
