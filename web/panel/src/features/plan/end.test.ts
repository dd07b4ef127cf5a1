import { expect, test } from "vitest";

import { endOf } from "./end";

const terms = { grace_days: 3, suspended_days: 14, kept_days: 30 };
const service = {
  status: "active" as const,
  expires_at: "2026-12-01T00:00:00Z",
  grace_until: null,
  suspended_at: null,
  terminates_at: null,
};
const days = (end: ReturnType<typeof endOf>) =>
  end && [end.offline, end.over, end.kept].map((time) => time.toISOString().slice(0, 10));

test("a service that is not renewed passes grace and suspension, and is kept", () => {
  expect(days(endOf(service, terms))).toEqual(["2026-12-04", "2026-12-18", "2027-01-17"]);
});

test("what the server has fixed goes before the product's terms", () => {
  const pastDue = { ...service, status: "past_due" as const, grace_until: "2026-12-06T00:00:00Z" };
  expect(days(endOf(pastDue, terms))).toEqual(["2026-12-06", "2026-12-20", "2027-01-19"]);
  const suspended = {
    ...service,
    status: "suspended" as const,
    suspended_at: "2026-12-05T00:00:00Z",
    terminates_at: "2026-12-21T00:00:00Z",
  };
  expect(days(endOf(suspended, terms))).toEqual(["2026-12-05", "2026-12-21", "2027-01-20"]);
});

test("one that its reseller ends with its paid time has no grace", () => {
  const ending = { ...service, terminates_at: service.expires_at };
  expect(days(endOf(ending, terms))).toEqual(["2026-12-01", "2026-12-01", "2026-12-31"]);
});

test("one that is over, not paid yet or suspended by staff has no end to tell", () => {
  const suspended = { ...service, status: "suspended" as const, suspended_at: "2026-11-20T00:00:00Z" };
  expect(endOf(suspended, terms)).toBeNull();
  expect(endOf({ ...service, status: "terminated" }, terms)).toBeNull();
  expect(endOf({ ...service, expires_at: null }, terms)).toBeNull();
});
