import { queryOptions } from "@tanstack/react-query";

import { addressOf, api, call } from "~/api/client";
import { pace } from "~/api/live";
import type { components } from "~/api/schema";

import type { Kind } from "./kinds";

export type Invoice = components["schemas"]["Invoice"];

export const invoices = (page: number, kind?: Kind) =>
  queryOptions({
    queryKey: ["invoices", page, kind ?? ""],
    queryFn: ({ signal }) => call(api.GET("/api/v1/invoices", { params: { query: { page, kind } }, signal })),
  });

export const invoice = (id: number) =>
  queryOptions({
    queryKey: ["invoice", id],
    queryFn: async ({ signal }) =>
      (await call(
        api.GET("/api/v1/invoices/{invoice}", { params: { path: { invoice: id }, query: { format: "json" } }, signal }),
      )) as Invoice,
    // The number comes a second after the payment.
    refetchInterval: (query) => (query.state.data && query.state.data.number === null ? pace() : false),
  });

export const pdf = (id: number) => addressOf(`/api/v1/invoices/${id}`, { format: "pdf" });
