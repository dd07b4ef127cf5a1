import { queryOptions } from "@tanstack/react-query";

import { addressOf, api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

import { firstOf } from "./balance";
import { dayAfter } from "./validate";

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

/** How far back the chart of the balance goes, and how many movements it reads at most. */
export const chartDays = 30;
const chartMovements = 500;

/** The movements of the days of the chart, newest first, and whether all are there. */
export const recentMovements = queryOptions({
  queryKey: ["wallet", "movements", "recent"],
  queryFn: async ({ signal }) => {
    const from = firstOf(chartDays, Date.now());
    const { data, meta } = await allPages(
      (page) => call(api.GET("/api/v1/wallet/transactions", { params: { query: { ...page, from } }, signal })),
      chartMovements,
    );
    return { data, whole: data.length >= meta.total };
  },
});

export const movementsCsv = ({ type, from, to }: Filter) =>
  addressOf("/api/v1/wallet/transactions.csv", {
    ...(type ? { type } : {}),
    ...(from ? { from } : {}),
    ...(to ? { to: dayAfter(to) } : {}),
  });

export const methods = queryOptions({
  queryKey: ["wallet", "methods"],
  queryFn: ({ signal }) =>
    allPages((page) => call(api.GET("/api/v1/wallet/methods", { params: { query: page }, signal }))),
});

export const forgetMethod = (gateway: string) =>
  call(api.DELETE("/api/v1/wallet/methods/{gateway}", { params: { path: { gateway } } }));

export const setWallet = (body: components["schemas"]["WalletUpdateWalletBody"]) =>
  call(api.PATCH("/api/v1/wallet", { body }));
