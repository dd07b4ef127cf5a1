import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { pace } from "~/api/live";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type Gateway = components["schemas"]["WalletGateway"];

export const gateways = queryOptions({
  queryKey: ["wallet", "gateways"],
  queryFn: ({ signal }) =>
    allPages((page) => call(api.GET("/api/v1/wallet/gateways", { params: { query: page }, signal }))),
});

const open = new Set(["pending", "processing"]);

export const topup = (id: number) =>
  queryOptions({
    queryKey: ["wallet", "topup", id],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/wallet/topups/{topup}", { params: { path: { topup: id } }, signal })),
    refetchInterval: (query) => (query.state.data && open.has(query.state.data.status) ? pace() : false),
  });

export const createTopup = (key: string, body: components["schemas"]["WalletCreateTopupBody"]) =>
  call(api.POST("/api/v1/wallet/topups", { params: { header: { "Idempotency-Key": key } }, body }));
