import { createFileRoute } from "@tanstack/react-router";

import type { World } from "~/features/reseller/api";
import { SettingsPage } from "~/features/reseller/SettingsPage";

export const Route = createFileRoute("/reseller/settings")({
  validateSearch: (search: Record<string, unknown>): { world?: World } => ({
    world: search.world === "sandbox" ? "sandbox" : undefined,
  }),
  component: Page,
});

function Page() {
  const { world = "live" } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <SettingsPage
      world={world}
      onWorld={(next) => void navigate({ search: next === "sandbox" ? { world: next } : {} })}
    />
  );
}
