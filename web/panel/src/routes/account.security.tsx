import { createFileRoute } from "@tanstack/react-router";

import { security } from "~/features/account/api";
import { Security } from "~/features/account/Security";

export const Route = createFileRoute("/account/security")({
  loader: ({ context }) => context.queryClient.prefetchQuery(security),
  component: Security,
});
