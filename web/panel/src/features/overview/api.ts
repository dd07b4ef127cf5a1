import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import type { components } from "~/api/schema";
import { usage as usageNow } from "~/ui/usage/api";

export type Service = components["schemas"]["Service"];
export type Insight = components["schemas"]["Insight"];
export type Certificate = components["schemas"]["Certificate"];
export type Usage = Partial<Record<"disk_mb" | "bandwidth_gb", { percent: number | null }>>;

/** Services that are looked into for what needs the reader. */
const looked = 10;

export const overviewServices = queryOptions({
  queryKey: ["services", "overview"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/services", { params: { query: { per_page: looked } }, signal })),
});

export const wallet = queryOptions({
  queryKey: ["wallet", "overview"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/wallet", { params: { query: { per_page: 1 } }, signal })),
});

export const notifications = queryOptions({
  queryKey: ["notifications", "overview"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/notifications", { params: { query: { per_page: 5 } }, signal })),
});

export const unpaid = queryOptions({
  queryKey: ["orders", "unpaid"],
  queryFn: ({ signal }) =>
    call(api.GET("/api/v1/orders", { params: { query: { status: "pending", per_page: 5 } }, signal })),
});

export const domains = queryOptions({
  queryKey: ["domains", "overview"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/domains", { params: { query: { per_page: 50 } }, signal })),
});

const at = (service: number) => ({ path: { service } });

export const usage = (service: number) => ({ ...usageNow(service), staleTime: 60_000 });

export const certificates = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "certificates", "overview"],
    queryFn: ({ signal }) => call(api.GET("/api/v1/services/{service}/ssl", { params: at(service), signal })),
    staleTime: 60_000,
  });

export const insights = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "insights", "overview"],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/services/{service}/ai/insights", {
          params: { ...at(service), query: { status: "open", per_page: 5 } },
          signal,
        }),
      ),
    staleTime: 60_000,
  });
