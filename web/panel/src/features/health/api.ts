import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { pace } from "~/api/live";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type Posture = components["schemas"]["ScansPosture"];
export type Finding = components["schemas"]["ScansFinding"];
export type Scan = components["schemas"]["Scan"];
export type Uptime = components["schemas"]["SlaUptime"];

const key = (service: number, ...rest: unknown[]) => ["service", service, "health", ...rest];

/** The score of a service, and what is to be mended. */
export const posture = (service: number) =>
  queryOptions({
    queryKey: key(service, "posture"),
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/services/{id}/security", { params: { path: { id: service } }, signal })),
  });

const underWay = (scan: Scan) => scan.status === "queued" || scan.status === "running";

/** The last scans of its site. */
export const scans = (service: number) =>
  queryOptions({
    queryKey: key(service, "scans"),
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/security/scans", { params: { query: { service_id: service, per_page: 10 } }, signal })),
    refetchInterval: (query) => (query.state.data?.data.some(underWay) ? pace(5000) : false),
  });

/** Scans a site; the answer is the finished scan. */
export const scan = (url: string) => call(api.POST("/api/v1/security/scans", { body: { url } }));

/** The uptime of a month, such as 2026-11. */
export const uptime = (service: number, month: string) =>
  queryOptions({
    queryKey: key(service, "uptime", month),
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/services/{id}/uptime", {
          params: { path: { id: service }, query: { month } },
          signal,
        }),
      ),
  });

/** The insights that are open, the worst first. */
export const insights = (service: number) =>
  queryOptions({
    queryKey: key(service, "insights"),
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(
          api.GET("/api/v1/services/{service}/ai/insights", {
            params: { path: { service }, query: { status: "open", ...page } },
            signal,
          }),
        ),
      ),
  });

export const audit = (service: number) =>
  call(api.POST("/api/v1/services/{service}/ai/audit", { params: { path: { service } } }));

/** The names of the service. */
export const service = (id: number) =>
  queryOptions({
    queryKey: ["service", id],
    queryFn: ({ signal }) => call(api.GET("/api/v1/services/{service}", { params: { path: { service: id } }, signal })),
  });
