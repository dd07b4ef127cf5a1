import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";
import type { Till } from "~/ui/topup/api";

export type World = "sandbox" | "live";
export type Service = components["schemas"]["ServicesResold"];
export type Product = components["schemas"]["CatalogResoldProduct"];
export type Delivery = components["schemas"]["WebhooksDelivery"];
export type Endpoint = components["schemas"]["WebhooksEndpoint"];
export type NewKey = components["schemas"]["ResellerNewKeyBody"];
export type MadeKey = components["schemas"]["ResellerNewKey"];
export type Brand = components["schemas"]["ResellerBrand"];

/** What the table of services shows. */
export interface Filter {
  client_ref?: string;
  status?: Service["status"];
  q?: string;
  /** Paid for less than so many days. */
  days?: number;
}

/** The panel names the world in which it calls; a key would name it by itself. */
const of = (world: World) => ({ "X-Stead-World": world });

const key = (world: World, ...rest: unknown[]) => ["reseller", world, ...rest];

export const me = (world: World) =>
  queryOptions({
    queryKey: key(world, "me"),
    queryFn: ({ signal }) => call(api.GET("/api/v1/reseller/me", { headers: of(world), signal })),
  });

/** What clients see in place of our name. */
export const brand = (world: World) =>
  queryOptions({
    queryKey: key(world, "brand"),
    queryFn: ({ signal }) => call(api.GET("/api/v1/reseller/brand", { headers: of(world), signal })),
  });

export const saveBrand = (world: World, body: components["schemas"]["ResellerBrandIn"]) =>
  call(api.PUT("/api/v1/reseller/brand", { headers: of(world), body }));

export const keys = (world: World) =>
  queryOptions({
    queryKey: key(world, "keys"),
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(api.GET("/api/v1/reseller/keys", { params: { query: page }, headers: of(world), signal })),
      ),
  });

/** The keys of both worlds, which the owner sees who has signed in. */
export const ownKeys = queryOptions({
  queryKey: ["reseller", "keys"],
  queryFn: ({ signal }) =>
    allPages((page) => call(api.GET("/api/v1/me/api-keys", { params: { query: page }, signal }))),
});

export const createKey = (body: NewKey) => call(api.POST("/api/v1/me/api-keys", { body }));

export const revokeKey = (id: number) =>
  call(api.DELETE("/api/v1/me/api-keys/{key}", { params: { path: { key: id } } }));

export const stats = (world: World) =>
  queryOptions({
    queryKey: key(world, "stats"),
    queryFn: ({ signal }) => call(api.GET("/api/v1/reseller/stats", { headers: of(world), signal })),
  });

export const catalog = (world: World) =>
  queryOptions({
    queryKey: key(world, "catalog"),
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(api.GET("/api/v1/reseller/catalog", { params: { query: page }, headers: of(world), signal })),
      ),
    staleTime: 300_000,
  });

const onTheWay = new Set<Service["status"]>(["pending", "provisioning", "terminating"]);

const list = (world: World, { days, ...filter }: Filter, page: number, signal?: AbortSignal) =>
  call(
    api.GET("/api/v1/reseller/services", {
      params: {
        query: {
          ...filter,
          page,
          per_page: 50,
          ...(days ? { renews_before: new Date(Date.now() + days * 86_400_000).toISOString() } : {}),
        },
      },
      headers: of(world),
      signal,
    }),
  );

export const services = (world: World, filter: Filter, page: number) =>
  queryOptions({
    queryKey: key(world, "services", filter, page),
    queryFn: ({ signal }) => list(world, filter, page, signal),
    refetchInterval: (query) => (query.state.data?.data.some((one) => onTheWay.has(one.status)) ? 1000 : false),
  });

/** All services that a filter selects. */
export async function allServices(world: World, filter: Filter): Promise<Service[]> {
  const { data } = await allPages(({ page }) => list(world, filter, page));
  return data;
}

/** One service, asked again each second while it is on its way: no event of the sandbox comes to the panel. */
export const service = (world: World, id: number) =>
  queryOptions({
    queryKey: key(world, "service", id),
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/reseller/services/{service}", {
          params: { path: { service: id } },
          headers: of(world),
          signal,
        }),
      ),
    refetchInterval: (query) => (query.state.data && onTheWay.has(query.state.data.status) ? 1000 : false),
  });

/** What happened to a service; the state is a part of the key, so that each change of it is read. */
export const history = (world: World, id: number, status: Service["status"]) =>
  queryOptions({
    queryKey: key(world, "service", id, "history", status),
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(
          api.GET("/api/v1/reseller/services/{service}/events", {
            params: { path: { service: id }, query: page },
            headers: of(world),
            signal,
          }),
        ),
      ),
  });

/** The tags that begin with a text. */
export const clients = (world: World, q: string) =>
  queryOptions({
    queryKey: key(world, "clients", q),
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/reseller/clients", {
          params: { query: { per_page: 20, ...(q ? { q } : {}) } },
          headers: of(world),
          signal,
        }),
      ),
  });

/** What a new service costs now, with tax, and whether the wallet pays for it. Nothing is ordered. */
export const quote = (world: World, plan: number, months: number) =>
  queryOptions({
    queryKey: key(world, "quote", plan, months),
    queryFn: ({ signal }) =>
      call(
        api.POST("/api/v1/reseller/quotes", {
          headers: of(world),
          body: { items: [{ kind: "new", plan_id: plan, period_months: months }] },
          signal,
        }),
      ),
    staleTime: 0,
  });

export const createService = (world: World, body: components["schemas"]["ResellerCreateBody"], once: string) =>
  call(
    api.POST("/api/v1/reseller/services", {
      params: { header: { "Idempotency-Key": once } },
      headers: of(world),
      body,
    }),
  );

const one = (world: World, id: number) => ({ params: { path: { service: id } }, headers: of(world) });

export const setService = (world: World, id: number, body: components["schemas"]["ResellerNoteBody"]) =>
  call(api.PATCH("/api/v1/reseller/services/{service}", { ...one(world, id), body }));

export const suspend = (world: World, id: number, reason: string) =>
  call(
    api.POST("/api/v1/reseller/services/{service}/suspend", {
      ...one(world, id),
      body: reason ? { reason } : {},
    }),
  );

export const unsuspend = (world: World, id: number) =>
  call(api.POST("/api/v1/reseller/services/{service}/unsuspend", one(world, id)));

export const end = (world: World, id: number, when: "now" | "period_end") =>
  call(
    api.DELETE("/api/v1/reseller/services/{service}", {
      params: { path: { service: id }, query: { when } },
      headers: of(world),
    }),
  );

/** What is sent once for each intent of a person. */
const once = (world: World, id: number, intent: string) => ({
  params: { path: { service: id }, header: { "Idempotency-Key": intent } },
  headers: of(world),
});

export const restore = (world: World, id: number, intent: string) =>
  call(api.POST("/api/v1/reseller/services/{service}/restore", once(world, id, intent)));

/** What renewing would cost; nothing is changed. */
export const renewalQuote = (world: World, id: number, months: number) =>
  queryOptions({
    queryKey: key(world, "renewal", id, months),
    queryFn: () =>
      call(
        api.POST("/api/v1/reseller/services/{service}/renew", {
          ...one(world, id),
          body: { dry_run: true, period_months: months },
        }),
      ),
    staleTime: 0,
  });

export const renew = (world: World, id: number, intent: string, months: number, expected: number) =>
  call(
    api.POST("/api/v1/reseller/services/{service}/renew", {
      ...once(world, id, intent),
      body: { period_months: months, expected_usd_cents: expected },
    }),
  );

/** Looks into the DNS of a domain now for the record that proves it. */
export const checkClaim = (world: World, domain: string) =>
  call(api.POST("/api/v1/reseller/domain-claims", { headers: of(world), body: { domain } }));

export const clientLink = (world: World, service: number) =>
  call(
    api.POST("/api/v1/reseller/services/{service}/login-link", {
      params: { path: { service } },
      headers: of(world),
    }),
  );

export const clock = queryOptions({
  queryKey: key("sandbox", "clock"),
  queryFn: ({ signal }) => call(api.GET("/api/v1/reseller/clock", { headers: of("sandbox"), signal })),
  refetchInterval: (query) => (query.state.data?.status === "advancing" ? 1000 : false),
});

export const advance = (days: number) =>
  call(api.POST("/api/v1/reseller/clock/advance", { headers: of("sandbox"), body: { days } }));

export const resetClock = () => call(api.POST("/api/v1/reseller/clock/reset", { headers: of("sandbox") }));

export const endpoints = (world: World) =>
  queryOptions({
    queryKey: key(world, "webhooks"),
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(api.GET("/api/v1/reseller/webhooks", { params: { query: page }, headers: of(world), signal })),
      ),
  });

export const createEndpoint = (world: World, url: string) =>
  call(api.POST("/api/v1/reseller/webhooks", { headers: of(world), body: { url } }));

const webhook = (world: World, id: number) => ({ params: { path: { webhook: id } }, headers: of(world) });

export const setEndpoint = (world: World, id: number, enabled: boolean) =>
  call(api.PATCH("/api/v1/reseller/webhooks/{webhook}", { ...webhook(world, id), body: { enabled } }));

export const deleteEndpoint = (world: World, id: number) =>
  call(api.DELETE("/api/v1/reseller/webhooks/{webhook}", webhook(world, id)));

export const rotateSecret = (world: World, id: number) =>
  call(api.POST("/api/v1/reseller/webhooks/{webhook}/rotate-secret", { ...webhook(world, id), body: {} }));

export const testEndpoint = (world: World, id: number) =>
  call(api.POST("/api/v1/reseller/webhooks/{webhook}/test", webhook(world, id)));

export const events = (world: World, type: string, page: number) =>
  queryOptions({
    queryKey: key(world, "events", type, page),
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/reseller/events", {
          params: { query: { page, ...(type ? { type } : {}) } },
          headers: of(world),
          signal,
        }),
      ),
    refetchInterval: 5000,
  });

export const event = (world: World, id: string) =>
  queryOptions({
    queryKey: key(world, "event", id),
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/reseller/events/{event}", { params: { path: { event: id } }, headers: of(world), signal })),
    refetchInterval: 2000,
  });

export const redeliver = (world: World, id: string) =>
  call(
    api.POST("/api/v1/reseller/events/{event}/redeliver", {
      params: { path: { event: id } },
      headers: of(world),
      body: {},
    }),
  );

/** The wallet of the sandbox, whose money is play money. */
export const playTill: Till = {
  name: "sandbox",
  gateways: (signal) =>
    allPages((page) =>
      call(api.GET("/api/v1/reseller/wallet/gateways", { params: { query: page }, headers: of("sandbox"), signal })),
    ),
  create: (key, body) =>
    call(
      api.POST("/api/v1/reseller/wallet/topups", {
        params: { header: { "Idempotency-Key": key } },
        headers: of("sandbox"),
        body,
      }),
    ),
};
