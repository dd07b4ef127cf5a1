import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { pace } from "~/api/live";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

type Schemas = components["schemas"];
export type Order = Schemas["Order"];
export type Product = Schemas["CatalogProduct"];
export type Plan = Schemas["CatalogPlan"];
export type Price = Schemas["CatalogPrice"];
export type Addon = Schemas["AddonsProduct"];
export type Offer = Schemas["AddonsOffer"];
export type DomainCheck = Schemas["DomainsCheck"];
export type OwnDomain = Schemas["Domain"];

export const catalog = queryOptions({
  queryKey: ["catalog"],
  queryFn: ({ signal }) => allPages((page) => call(api.GET("/api/v1/catalog", { params: { query: page }, signal }))),
  staleTime: 60_000,
});

export const addonCatalog = queryOptions({
  queryKey: ["catalog", "addons"],
  queryFn: ({ signal }) =>
    allPages((page) => call(api.GET("/api/v1/catalog/addons", { params: { query: page }, signal }))),
  staleTime: 60_000,
});

export const domainCheck = (domain: string) =>
  queryOptions({
    queryKey: ["domain-check", domain],
    queryFn: ({ signal }) => call(api.GET("/api/v1/domains/check", { params: { query: { domain } }, signal })),
    enabled: domain !== "",
    staleTime: 60_000,
  });

/** The account's domains whose names, in ASCII, contain a text. */
export const domainsLike = (q: string) =>
  queryOptions({
    queryKey: ["domains", "like", q],
    queryFn: ({ signal }) => call(api.GET("/api/v1/domains", { params: { query: { q, per_page: 50 } }, signal })),
    enabled: q !== "",
  });

export const wallet = queryOptions({
  queryKey: ["wallet", "balance"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/wallet", { params: { query: { per_page: 1 } }, signal })),
});

/** States from which an order still moves by itself. */
const moving = new Set<Order["status"]>(["paid", "processing"]);

export const isMoving = (order: Order) => moving.has(order.status);

export const orders = (page: number, status?: Order["status"]) =>
  queryOptions({
    queryKey: ["orders", page, status ?? ""],
    queryFn: ({ signal }) => call(api.GET("/api/v1/orders", { params: { query: { page, status } }, signal })),
    refetchInterval: (query) => (query.state.data?.data.some(isMoving) ? pace() : false),
  });

export const order = (id: number) =>
  queryOptions({
    queryKey: ["order", id],
    queryFn: ({ signal }) => call(api.GET("/api/v1/orders/{order}", { params: { path: { order: id } }, signal })),
    refetchInterval: (query) => (query.state.data && isMoving(query.state.data) ? pace() : false),
  });

export const orderedService = (id: number, wait: boolean) =>
  queryOptions({
    queryKey: ["service", id],
    queryFn: ({ signal }) => call(api.GET("/api/v1/services/{service}", { params: { path: { service: id } }, signal })),
    refetchInterval: wait ? () => pace() : false,
  });

export const offers = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "addons", "offers"],
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(
          api.GET("/api/v1/services/{service}/addons/offers", {
            params: { path: { service }, query: page },
            signal,
          }),
        ),
      ),
  });

export const createOrder = (key: string, body: Schemas["OrdersCreateBody"]) =>
  call(api.POST("/api/v1/orders", { params: { header: { "Idempotency-Key": key } }, body }));

export const payOrder = (id: number) =>
  call(
    api.POST("/api/v1/orders/{order}/pay", {
      params: { path: { order: id }, header: { "Idempotency-Key": `panel-pay-${id}` } },
    }),
  );

export const cancelOrder = (id: number) =>
  call(api.POST("/api/v1/orders/{order}/cancel", { params: { path: { order: id } } }));

/** Registers the domain of an order. It takes effect once for each order, domain and price. */
export const registerDomain = (id: number, body: Schemas["DomainsOrderBody"] & { expected_usd_cents: number }) =>
  call(
    api.POST("/api/v1/domains", {
      params: { header: { "Idempotency-Key": `panel-order-${id}-${body.domain}-${body.expected_usd_cents}` } },
      body,
    }),
  );

export const buyAddon = (id: number, service: number, body: Schemas["AddonsCreateBody"]) =>
  call(
    api.POST("/api/v1/services/{service}/addons", {
      params: { path: { service }, header: { "Idempotency-Key": `panel-order-${id}-addon-${body.key}` } },
      body,
    }),
  );
