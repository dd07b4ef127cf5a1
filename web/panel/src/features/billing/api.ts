import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import type { components } from "~/api/schema";

export type Profile = components["schemas"]["InvoicesProfile"];

export const billing = queryOptions({
  queryKey: ["billing"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/me/billing", { signal })),
});

export const setBilling = (body: components["schemas"]["InvoicesProfileBody"]) =>
  call(api.PUT("/api/v1/me/billing", { body }));
