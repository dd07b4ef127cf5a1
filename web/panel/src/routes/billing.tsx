import { createFileRoute } from "@tanstack/react-router";

import { BillingPage } from "~/features/billing/BillingPage";
import { billing } from "~/ui/billing";

export const Route = createFileRoute("/billing")({
  loader: ({ context }) => context.queryClient.prefetchQuery(billing),
  component: BillingPage,
});
