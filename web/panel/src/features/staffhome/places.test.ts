import { expect, test } from "vitest";

import { cure, pageOf, tone } from "./places";

const hit = { title: "", detail: "" };

test("what is stuck leads to where it is mended", () => {
  expect(cure({ kind: "tickets_waiting", count: 2, oldest_id: 7, since: null })).toEqual({
    to: "tickets",
    search: { status: "open" },
  });
  expect(cure({ kind: "renewals_failing", count: 1, oldest_id: 7, since: null })).toEqual({ to: "services/7" });
  expect(tone("nodes_silent")).toBe("bad");
  expect(tone("reviews_pending")).toBe("warn");
});

test("a hit leads to its own page, else to its customer", () => {
  expect(pageOf({ ...hit, kind: "order", id: 5, account_id: 2 })?.to).toBe("orders/5");
  expect(pageOf({ ...hit, kind: "session", id: 5, account_id: 2 })?.to).toBe("customers/2");
  expect(pageOf({ ...hit, kind: "request", id: 5, account_id: 0 })).toBeNull();
});
