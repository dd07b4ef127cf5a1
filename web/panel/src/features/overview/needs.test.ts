import { expect, test } from "vitest";

import { lookedAt, needs } from "./needs";

type Seen = Parameters<typeof needs>[0];

const none: Seen = {
  orders: [],
  services: [],
  domains: [],
  usage: new Map(),
  certificates: new Map(),
  insights: new Map(),
};
const soon = new Date("2027-01-31T00:00:00Z");
const amount = (value: { display: string }) => value.display;
const service = {
  id: 7,
  status: "active",
  label: "Shop",
  unicode_domain: "shop.uz",
  auto_renew: true,
  expires_at: "2027-01-15T00:00:00Z",
  suspend_reason: null,
} as unknown as Seen["services"][number];
const texts = (seen: Partial<Seen>) => needs({ ...none, ...seen }, soon, amount).map((need) => need.text);

test("who has everything in order needs nothing", () => {
  expect(texts({ services: [service] })).toEqual([]);
});

test("a service that ends soon without renewal", () => {
  expect(texts({ services: [{ ...service, auto_renew: false }] })).toEqual(["need.ends"]);
  expect(texts({ services: [{ ...service, auto_renew: false, expires_at: "2027-03-01T00:00:00Z" }] })).toEqual([]);
});

test("what is worse stands first", () => {
  const usage = new Map([[7, { disk_mb: { used: 95, limit: 100, percent: 95 } }]]) as unknown as Seen["usage"];
  const certificates = new Map([[7, [{ status: "failed", common_name: "shop.uz" } as const]]]);
  expect(texts({ services: [service], usage, certificates })).toEqual(["need.certificate", "need.disk"]);
});

test("a need leads to the page that mends it", () => {
  const certificates = new Map([[7, [{ status: "failed", common_name: "shop.uz" } as const]]]);
  const insights = new Map([[7, [{ id: 2, severity: "high", title: "b" } as const]]]);
  expect(needs({ ...none, services: [service], certificates, insights }, soon, amount).map((need) => need.to)).toEqual([
    "/services/7/certificates",
    "/services/7/health",
  ]);
});

test("a service whose answers are missing was not looked at", () => {
  const services = [
    { id: 1, status: "active" } as const,
    { id: 2, status: "active" } as const,
    { id: 3, status: "suspended" } as const,
  ];
  expect(lookedAt(services, (id) => id === 1)).toBe(2);
});

test("small insights need nobody", () => {
  const insights = new Map([
    [7, [{ id: 1, severity: "low", title: "a" } as const, { id: 2, severity: "critical", title: "b" } as const]],
  ]);
  expect(texts({ services: [service], insights })).toEqual(["need.insight"]);
});

test("a domain whose renewal is off", () => {
  const domain = {
    id: 3,
    unicode_name: "shop.uz",
    status: "active",
    auto_renew: false,
    expires_at: "2027-01-20T00:00:00Z",
    verification: { status: "none", deadline: null },
  } as unknown as Seen["domains"][number];
  expect(texts({ domains: [domain] })).toEqual(["need.domain_expires"]);
  expect(texts({ domains: [{ ...domain, auto_renew: true }] })).toEqual([]);
});
