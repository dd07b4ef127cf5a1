import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { pace } from "~/api/live";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type Gateway = components["schemas"]["WalletGateway"];

/** Where a wallet is topped up: the account's own, or that of a reseller's sandbox. */
export interface Till {
  /** Distinguishes its queries from those of others. */
  name: string;
  gateways: (signal: AbortSignal) => Promise<{ data: Gateway[] }>;
  create: (
    key: string,
    body: components["schemas"]["WalletCreateTopupBody"],
  ) => Promise<components["schemas"]["WalletTopup"]>;
}

const open = new Set(["pending", "processing"]);

export const topup = (id: number) =>
  queryOptions({
    queryKey: ["wallet", "topup", id],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/wallet/topups/{topup}", { params: { path: { topup: id } }, signal })),
    refetchInterval: (query) => (query.state.data && open.has(query.state.data.status) ? pace() : false),
  });

/** The wallet of the account. */
export const ownTill: Till = {
  name: "own",
  gateways: (signal) =>
    allPages((page) => call(api.GET("/api/v1/wallet/gateways", { params: { query: page }, signal }))),
  create: (key, body) =>
    call(api.POST("/api/v1/wallet/topups", { params: { header: { "Idempotency-Key": key } }, body })),
};

/** The gateways through which money comes. */
export const gatewaysOf = (till: Till) =>
  queryOptions({ queryKey: ["wallet", "gateways", till.name], queryFn: ({ signal }) => till.gateways(signal) });

export const gateways = gatewaysOf(ownTill);
