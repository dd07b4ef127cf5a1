import { createFileRoute } from "@tanstack/react-router";

import { preferences } from "~/features/notifications/api";
import { Preferences } from "~/features/notifications/Preferences";

export const Route = createFileRoute("/account/notifications")({
  loader: ({ context }) => context.queryClient.prefetchQuery(preferences),
  component: Preferences,
});
