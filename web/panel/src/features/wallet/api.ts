import { queryOptions } from "@tanstack/react-query";

import { addressOf, api, call } from "~/api/client";
import type { components } from "~/api/schema";

export type Wallet = components["schemas"]["Wallet"];
export type Movement = components["schemas"]["WalletTransaction"];

export const wallet = queryOptions({
  queryKey: ["wallet", "balance"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/wallet", { params: { query: { per_page: 1 } }, signal })),
});

/** Which movements are shown. Days are of UTC; the last day counts whole. */
export interface Filter {
  type?: string;
  from?: string;
  to?: string;
}

/** The day after, at which the interface stops before. */
export function dayAfter(day: string): string {
  const next = new Date(`${day}T00:00:00Z`);
  next.setUTCDate(next.getUTCDate() + 1);
  return next.toISOString().slice(0, 10);
}

const query = ({ type, from, to }: Filter) => ({
  ...(type ? { type: [type] } : {}),
  ...(from ? { from } : {}),
  ...(to ? { to: dayAfter(to) } : {}),
});

export const movements = (page: number, filter: Filter) =>
  queryOptions({
    queryKey: ["wallet", "movements", page, filter],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/wallet/transactions", { params: { query: { page, ...query(filter) } }, signal })),
  });

export const movementsCsv = ({ type, from, to }: Filter) =>
  addressOf("/api/v1/wallet/transactions.csv", {
    ...(type ? { type } : {}),
    ...(from ? { from } : {}),
    ...(to ? { to: dayAfter(to) } : {}),
  });

export const methods = queryOptions({
  queryKey: ["wallet", "methods"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/wallet/methods", { params: { query: { per_page: 50 } }, signal })),
});

export const forgetMethod = (gateway: string) =>
  call(api.DELETE("/api/v1/wallet/methods/{gateway}", { params: { path: { gateway } } }));

export const setWallet = (body: components["schemas"]["WalletUpdateWalletBody"]) =>
  call(api.PATCH("/api/v1/wallet", { body }));
