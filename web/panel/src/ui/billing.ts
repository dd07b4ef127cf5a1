import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import type { components } from "~/api/schema";

export type Profile = components["schemas"]["InvoicesProfile"];

/** Whom invoices are for, and by what purchases are taxed. */
export const billing = queryOptions({
  queryKey: ["billing"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/me/billing", { signal })),
});
