import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";

export const overviewServices = queryOptions({
  queryKey: ["services", "overview"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/services", { params: { query: { per_page: 10 } }, signal })),
});

export const wallet = queryOptions({
  queryKey: ["wallet"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/wallet", { params: { query: { per_page: 5 } }, signal })),
});

export const notifications = queryOptions({
  queryKey: ["notifications", "overview"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/notifications", { params: { query: { per_page: 5 } }, signal })),
});
