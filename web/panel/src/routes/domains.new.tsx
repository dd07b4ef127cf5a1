import { createFileRoute } from "@tanstack/react-router";

import { NewDomain, type Search } from "~/features/domains/NewDomain";
import { billing } from "~/ui/billing";
import { zones } from "~/ui/zones";

export const Route = createFileRoute("/domains/new")({
  validateSearch: (search: Record<string, unknown>): Search => ({
    name: typeof search.name === "string" ? search.name.slice(0, 255) : undefined,
    transfer: search.transfer === true || undefined,
    topup: Number(search.topup) || undefined,
  }),
  loader: ({ context }) => {
    void context.queryClient.prefetchQuery(billing);
    return context.queryClient.prefetchQuery(zones);
  },
  component: Page,
});

function Page() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  return <NewDomain search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />;
}
