import { createFileRoute } from "@tanstack/react-router";

import type { Sale } from "~/features/reseller/sale";
import { Sell } from "~/features/reseller/Sell";

const text = (value: unknown) =>
  (typeof value === "string" || typeof value === "number") && value !== "" ? String(value).slice(0, 255) : undefined;

export const Route = createFileRoute("/reseller/new")({
  validateSearch: (search: Record<string, unknown>): Sale => ({
    world: search.world === "sandbox" ? "sandbox" : undefined,
    client_ref: text(search.client_ref),
    plan: text(search.plan),
    period: Number(search.period) > 0 ? Math.trunc(Number(search.period)) : undefined,
    domain: text(search.domain),
  }),
  component: Page,
});

function Page() {
  const navigate = Route.useNavigate();
  return (
    <Sell
      sale={Route.useSearch()}
      onSale={(next) => void navigate({ search: next, replace: true, resetScroll: false })}
    />
  );
}
