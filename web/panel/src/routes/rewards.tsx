import { createFileRoute } from "@tanstack/react-router";

import { loyalty } from "~/features/rewards/api";
import { Rewards } from "~/features/rewards/Rewards";

export const Route = createFileRoute("/rewards")({
  loader: ({ context }) => context.queryClient.prefetchQuery(loyalty),
  component: Rewards,
});
