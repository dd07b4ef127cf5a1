import { createFileRoute } from "@tanstack/react-router";

import { billing } from "~/features/billing/api";
import { BillingPage } from "~/features/billing/BillingPage";

export const Route = createFileRoute("/billing")({
  loader: ({ context }) => context.queryClient.prefetchQuery(billing),
  component: BillingPage,
});
