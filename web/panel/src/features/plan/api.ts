import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

type Schemas = components["schemas"];
export type Service = Schemas["Service"];
export type Tariff = Schemas["ServicesTariff"];
export type Offer = Schemas["AddonsOffer"];
export type Addon = Schemas["Addon"];

export const service = (id: number) =>
  queryOptions({
    queryKey: ["service", id],
    queryFn: ({ signal }) => call(api.GET("/api/v1/services/{service}", { params: { path: { service: id } }, signal })),
  });

export const tariffs = (id: number) =>
  queryOptions({
    queryKey: ["service", id, "tariffs"],
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(
          api.GET("/api/v1/services/{service}/tariffs", {
            params: { path: { service: id }, query: page },
            signal,
          }),
        ),
      ),
  });

export const addons = (id: number) =>
  queryOptions({
    queryKey: ["service", id, "addons"],
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(
          api.GET("/api/v1/services/{service}/addons", {
            params: { path: { service: id }, query: page },
            signal,
          }),
        ),
      ),
    refetchInterval: (query) => (query.state.data?.data.some((one) => one.status === "pending") ? 5000 : false),
  });

export const offers = (id: number) =>
  queryOptions({
    queryKey: ["service", id, "addons", "offers"],
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(
          api.GET("/api/v1/services/{service}/addons/offers", {
            params: { path: { service: id }, query: page },
            signal,
          }),
        ),
      ),
  });

export const catalog = queryOptions({
  queryKey: ["catalog"],
  queryFn: ({ signal }) => allPages((page) => call(api.GET("/api/v1/catalog", { params: { query: page }, signal }))),
  staleTime: 60_000,
});

/** What renewing would cost; nothing is changed. It is not below the service's key: a quote is not asked again once it is paid. */
export const renewalQuote = (id: number, months: number) =>
  queryOptions({
    queryKey: ["quote", "renewal", id, months],
    queryFn: () =>
      call(
        api.POST("/api/v1/services/{service}/renew", {
          params: { path: { service: id } },
          body: { dry_run: true, period_months: months },
        }),
      ),
    staleTime: 0,
  });

export const renew = (id: number, key: string, months: number, expected: number) =>
  call(
    api.POST("/api/v1/services/{service}/renew", {
      params: { path: { service: id }, header: { "Idempotency-Key": key } },
      body: { period_months: months, expected_usd_cents: expected },
    }),
  );

/** What moving to a plan would cost; nothing is changed. */
export const moveQuote = (id: number, plan: number, when: "now" | "renewal") =>
  queryOptions({
    queryKey: ["quote", "move", id, plan, when],
    queryFn: () =>
      call(
        api.POST("/api/v1/services/{service}/tariff", {
          params: { path: { service: id } },
          body: { dry_run: true, plan_id: plan, when },
        }),
      ),
    staleTime: 0,
  });

export const move = (id: number, key: string, body: Schemas["ServicesTariffBody"]) =>
  call(
    api.POST("/api/v1/services/{service}/tariff", {
      params: { path: { service: id }, header: { "Idempotency-Key": key } },
      body,
    }),
  );

export const update = (id: number, body: Schemas["ServicesUpdateBody"]) =>
  call(api.PATCH("/api/v1/services/{service}", { params: { path: { service: id } }, body }));

export const buyAddon = (id: number, key: string, body: Schemas["AddonsCreateBody"]) =>
  call(
    api.POST("/api/v1/services/{service}/addons", {
      params: { path: { service: id }, header: { "Idempotency-Key": key } },
      body,
    }),
  );

export const cancelAddon = (id: number, addon: number) =>
  call(api.DELETE("/api/v1/services/{service}/addons/{addon}", { params: { path: { service: id, addon } } }));
