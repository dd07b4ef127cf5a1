import { createFileRoute } from "@tanstack/react-router";

import type { World } from "~/features/reseller/api";
import { Start } from "~/features/reseller/Start";

export const Route = createFileRoute("/reseller/start")({
  validateSearch: (search: Record<string, unknown>): { world?: World } => ({
    world: search.world === "sandbox" ? "sandbox" : undefined,
  }),
  component: Start,
});
