import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { pace } from "~/api/live";
import type { components } from "~/api/schema";

export type Service = components["schemas"]["Service"];

/** States in which something is on its way: the page looks again every second. */
const busy = new Set<Service["status"]>(["pending", "provisioning", "terminating"]);

export const isBusy = (service: Service) => busy.has(service.status);

export const services = (page: number) =>
  queryOptions({
    queryKey: ["services", page],
    queryFn: ({ signal }) => call(api.GET("/api/v1/services", { params: { query: { page } }, signal })),
    refetchInterval: (query) => (query.state.data?.data.some(isBusy) ? pace() : false),
  });

export const service = (id: number) =>
  queryOptions({
    queryKey: ["service", id],
    queryFn: ({ signal }) => call(api.GET("/api/v1/services/{service}", { params: { path: { service: id } }, signal })),
    refetchInterval: (query) => (query.state.data && isBusy(query.state.data) ? pace() : false),
  });

/** Brings a service back that has ended; a period of it is paid where its paid time is over. */
export const restore = (id: number, key: string) =>
  call(
    api.POST("/api/v1/services/{service}/restore", {
      params: { path: { service: id }, header: { "Idempotency-Key": key } },
    }),
  );
