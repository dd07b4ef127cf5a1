import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { call } from "~/api/client";
import { staff, type Schemas } from "~/api/staff";

export type Customer = Schemas["AdminCustomerView"];
export type State = "open" | "suspended" | "closed";
export const states: State[] = ["open", "suspended", "closed"];

export const customers = (query: { page?: number; q?: string; state?: State }) =>
  queryOptions({
    queryKey: ["staff", "customers", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/customers", { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });

export const customer = (account: number) =>
  queryOptions({
    queryKey: ["staff", "customer", account],
    queryFn: ({ signal }) =>
      call(staff.GET("/api/v1/admin/customers/{account}", { params: { path: { account } }, signal })),
  });

export const ledger = (account: number, page: number) =>
  queryOptions({
    queryKey: ["staff", "customer", account, "ledger", page],
    queryFn: ({ signal }) =>
      call(
        staff.GET("/api/v1/admin/customers/{account}/ledger", {
          params: { path: { account }, query: { page } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

const of = (account: number) => ({ path: { account } });
const once = (account: number, key: string) => ({ path: { account }, header: { "Idempotency-Key": key } });

export const suspend = (account: number, reason: string) =>
  call(staff.POST("/api/v1/admin/customers/{account}/suspend", { params: of(account), body: { reason } }));
export const unsuspend = (account: number, reason: string) =>
  call(staff.POST("/api/v1/admin/customers/{account}/unsuspend", { params: of(account), body: { reason } }));
export const resetTwoFactor = (account: number, reason: string) =>
  call(staff.POST("/api/v1/admin/customers/{account}/reset-two-factor", { params: of(account), body: { reason } }));
export const signInAs = (account: number, reason: string) =>
  call(staff.POST("/api/v1/admin/customers/{account}/sign-in", { params: of(account), body: { reason } }));
export const credit = (account: number, key: string, amount: number, reason: string) =>
  call(
    staff.POST("/api/v1/admin/customers/{account}/credit", {
      params: once(account, key),
      body: { amount_usd_cents: amount, reason },
    }),
  );
export const debit = (account: number, key: string, amount: number, reason: string) =>
  call(
    staff.POST("/api/v1/admin/customers/{account}/debit", {
      params: once(account, key),
      body: { amount_usd_cents: amount, reason },
    }),
  );
export const takeBack = (account: number, transaction: number, key: string, reason: string) =>
  call(
    staff.POST("/api/v1/admin/customers/{account}/ledger/{transaction}/take-back", {
      params: { path: { account, transaction }, header: { "Idempotency-Key": key } },
      body: { reason },
    }),
  );
export const addNote = (account: number, text: string) =>
  call(staff.POST("/api/v1/admin/customers/{account}/notes", { params: of(account), body: { text } }));
export const removeNote = (account: number, note: number) =>
  call(staff.DELETE("/api/v1/admin/customers/{account}/notes/{note}", { params: { path: { account, note } } }));
