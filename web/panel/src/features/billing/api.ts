import { api, call } from "~/api/client";
import type { components } from "~/api/schema";

export const setBilling = (body: components["schemas"]["InvoicesProfileBody"]) =>
  call(api.PUT("/api/v1/me/billing", { body }));
