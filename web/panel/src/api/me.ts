import { queryOptions } from "@tanstack/react-query";

import { api, call } from "./client";
import type { components } from "./schema";

export type Me = components["schemas"]["AccountMe"];

/** The account of the session. */
export const me = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/me", { signal })),
});
