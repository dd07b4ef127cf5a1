import { queryOptions, useQuery } from "@tanstack/react-query";

import { call } from "~/api/client";
import { staff, type Operation, type Schemas } from "~/api/staff";

/** Who is signed in, and what the role may do. */
export const me = queryOptions({
  queryKey: ["staff", "me"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/me", { signal })),
  staleTime: 60_000,
});

/** Tells whether the reader's role may call an operation: what it may not is not offered. */
export function useCan() {
  const { data } = useQuery(me);
  return (operation: Operation) => data?.operations.includes(operation) ?? false;
}

/** The accounts of staff, for the names of authors and assignees. */
export const colleagues = queryOptions({
  queryKey: ["staff", "staff"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/staff", { signal })),
  staleTime: 60_000,
});

export type Move = Schemas["AdminMove"];

/** Moves between machines, the newest first: of one service, or all that are under way. Those that are under way are asked for again soon. */
export const moves = (of: { service_id: number; per_page: number } | { running: true; per_page: number }) =>
  queryOptions({
    queryKey: ["staff", "moves", of],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/moves", { params: { query: of }, signal })),
    refetchInterval: (query) => (query.state.data?.data.some((m) => m.state === "running") ? 2000 : 30_000),
  });

export const cancelMove = (move: number, reason: string) =>
  call(staff.POST("/api/v1/admin/moves/{move}/cancel", { params: { path: { move } }, body: { reason } }));
