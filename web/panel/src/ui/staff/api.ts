import { queryOptions, useQuery } from "@tanstack/react-query";

import { call } from "~/api/client";
import { staff, type Operation } from "~/api/staff";

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
