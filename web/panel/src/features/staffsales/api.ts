import { queryOptions } from "@tanstack/react-query";

import { call } from "~/api/client";
import { staff, type Schemas } from "~/api/staff";

export type OrderView = Schemas["AdminOrderView"];

export const order = (id: number) =>
  queryOptions({
    queryKey: ["staff", "order", id],
    queryFn: ({ signal }) =>
      call(staff.GET("/api/v1/admin/orders/{order}", { params: { path: { order: id } }, signal })),
    refetchInterval: (query) => (["paid", "processing"].includes(query.state.data?.status ?? "") ? 2000 : false),
  });

export const refund = (id: number, key: string, amount: number, reason: string) =>
  call(
    staff.POST("/api/v1/admin/orders/{order}/refund", {
      params: { path: { order: id }, header: { "Idempotency-Key": key } },
      body: { amount_usd_cents: amount, reason },
    }),
  );

export const retryOrder = (id: number, reason: string) =>
  call(staff.POST("/api/v1/admin/orders/{order}/retry", { params: { path: { order: id } }, body: { reason } }));

export const topups = (query: { page?: number; attention?: "topups_waiting" }) =>
  queryOptions({
    queryKey: ["staff", "topups", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/topups", { params: { query }, signal })),
  });

export const confirmTopup = (topup: number, received: number) =>
  call(
    staff.POST("/api/v1/admin/topups/{topup}/confirm", {
      params: { path: { topup } },
      body: { received_usd_cents: received },
    }),
  );
