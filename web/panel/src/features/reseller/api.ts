import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import type { components } from "~/api/schema";

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
    queryFn: ({ signal }) => call(api.GET("/api/v1/reseller/keys", { headers: of(world), signal })),
  });

/** The keys of both worlds, which the owner sees who has signed in. */
export const ownKeys = queryOptions({
  queryKey: ["reseller", "keys"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/me/api-keys", { params: { query: { per_page: 50 } }, signal })),
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
      call(api.GET("/api/v1/reseller/catalog", { params: { query: { per_page: 50 } }, headers: of(world), signal })),
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

/** All services that a filter selects, page by page. */
export async function allServices(world: World, filter: Filter): Promise<Service[]> {
  const all: Service[] = [];
  for (let page = 1, last = 1; page <= last; page++) {
    const { data, meta } = await list(world, filter, page);
    all.push(...data);
    last = meta.last_page;
  }
  return all;
}

export const createService = (world: World, body: components["schemas"]["ResellerCreateBody"], once: string) =>
  call(
    api.POST("/api/v1/reseller/services", {
      params: { header: { "Idempotency-Key": once } },
      headers: of(world),
      body,
    }),
  );

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
      call(api.GET("/api/v1/reseller/webhooks", { params: { query: { per_page: 50 } }, headers: of(world), signal })),
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
