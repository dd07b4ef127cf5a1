import { queryOptions } from "@tanstack/react-query";

import { call } from "~/api/client";
import { staff, type Schemas } from "~/api/staff";

export type Attention = Schemas["AdminAttention"];
export type Hit = Schemas["AdminHit"];

export const dashboard = queryOptions({
  queryKey: ["staff", "dashboard"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/dashboard", { signal })),
  refetchInterval: 60_000,
});

export const search = (q: string) =>
  queryOptions({
    queryKey: ["staff", "search", q],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/search", { params: { query: { q } }, signal })),
    enabled: q !== "",
  });
