import { QueryClient, type FetchQueryOptions } from "@tanstack/react-query";
import { afterEach, expect, test, vi } from "vitest";

import { gateways } from "~/ui/topup/api";
import { zones } from "~/ui/zones";

import { ftpAccounts, sshKeys } from "./access/api";
import { devices } from "./account/api";
import { conversations, pending } from "./agent/api";
import { databaseNames } from "./backups/api";
import { certificates } from "./certificates/api";
import { cronJobs } from "./cron/api";
import { databases } from "./databases/api";
import { dnsRecords, zonesOf } from "./dns/api";
import { insights } from "./health/api";
import { domains } from "./hosteddomains/api";
import { mailDomains } from "./mail/api";
import { channels } from "./monitors/api";
import { addonCatalog, catalog as shop } from "./order/api";
import { certificates as watched } from "./overview/api";
import { addons, offers, tariffs } from "./plan/api";
import { catalog, endpoints, history, keys, ownKeys } from "./reseller/api";
import { templates } from "./templates/api";
import { methods } from "./wallet/api";

vi.mock("~/app/boot", () => ({ boot: { base: "http://panel.test", sections: [] }, isOn: () => true }));
vi.mock("~/api/live", () => ({ pace: () => 5000, stream: () => {} }));

afterEach(() => vi.unstubAllGlobals());

/** Answers lists of 120 items as the interface does: 20 a page unless it is asked for others, and 50 at most. */
const answer = async (request: Request) => {
  const { searchParams } = new URL(request.url);
  const page = Number(searchParams.get("page") ?? 1);
  const per_page = Math.min(50, Number(searchParams.get("per_page") ?? 20));
  const items = Array.from({ length: 120 }, (_, n) => ({ id: n, name: `item${n}`, status: "active" }));
  const meta = { page, per_page, total: 120, last_page: Math.ceil(120 / per_page) };
  return Response.json({ data: items.slice((page - 1) * per_page, page * per_page), meta });
};

// Each is shown whole: its page has no pager.
test.each([
  ftpAccounts(1),
  sshKeys(1),
  devices,
  conversations(1),
  pending(1),
  databaseNames(1),
  certificates(1),
  cronJobs(1),
  databases(1),
  dnsRecords(1),
  zonesOf(1),
  insights(1),
  domains(1),
  mailDomains(1),
  channels,
  shop,
  addonCatalog,
  zones,
  watched(1),
  addons(1),
  offers(1),
  tariffs(1),
  catalog("live"),
  endpoints("live"),
  history("live", 1, "active"),
  keys("live"),
  ownKeys,
  templates(),
  methods,
  gateways,
])("the list $queryKey is read to its end", async (options) => {
  vi.stubGlobal("fetch", answer);
  const read: unknown = await new QueryClient().fetchQuery(options as FetchQueryOptions);
  expect(Array.isArray(read) ? read : (read as { data: unknown[] }).data).toHaveLength(120);
});
