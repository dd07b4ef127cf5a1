import { createFileRoute } from "@tanstack/react-router";

import { states, tickets, type Filter } from "~/features/support/api";
import { TicketList } from "~/features/support/TicketList";

export const Route = createFileRoute("/support/")({
  validateSearch: (search: Record<string, unknown>): Filter => ({
    page: Number(search.page) || undefined,
    status: states.find((one) => one === search.status),
    service: Number(search.service) || undefined,
  }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => context.queryClient.prefetchQuery(tickets(deps)),
  component: Page,
});

function Page() {
  const filter = Route.useSearch();
  const navigate = Route.useNavigate();
  return <TicketList filter={filter} onFilter={(search) => void navigate({ search })} />;
}
