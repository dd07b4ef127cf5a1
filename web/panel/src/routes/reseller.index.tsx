import { createFileRoute } from "@tanstack/react-router";

import { Clients } from "~/features/reseller/Clients";
import { statuses, type Search } from "~/features/reseller/search";

const text = (value: unknown) =>
  typeof value === "string" || typeof value === "number" ? String(value) || undefined : undefined;

export const Route = createFileRoute("/reseller/")({
  validateSearch: (search: Record<string, unknown>): Search => ({
    world: search.world === "sandbox" ? "sandbox" : undefined,
    page: Number(search.page) || undefined,
    client_ref: text(search.client_ref),
    q: text(search.q),
    status: statuses.find((one) => one === search.status),
    days: Number(search.days) || undefined,
  }),
  component: Page,
});

function Page() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  return <Clients search={search} onSearch={(next) => void navigate({ search: next, resetScroll: false })} />;
}
