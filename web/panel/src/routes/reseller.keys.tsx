import { createFileRoute } from "@tanstack/react-router";

import { ownKeys, type World } from "~/features/reseller/api";
import { Keys } from "~/features/reseller/Keys";

export const Route = createFileRoute("/reseller/keys")({
  validateSearch: (search: Record<string, unknown>): { world?: World } => ({
    world: search.world === "live" ? "live" : search.world === "sandbox" ? "sandbox" : undefined,
  }),
  loader: ({ context }) => context.queryClient.prefetchQuery(ownKeys),
  component: Page,
});

function Page() {
  const { world = "live" } = Route.useSearch();
  return <Keys world={world} />;
}
