import { createFileRoute } from "@tanstack/react-router";

import { NewTicket } from "~/features/support/NewTicket";

interface Search {
  service?: number;
  subject?: string;
}

export const Route = createFileRoute("/support/new")({
  validateSearch: (search: Record<string, unknown>): Search => ({
    service: Number(search.service) || undefined,
    subject: typeof search.subject === "string" ? search.subject : undefined,
  }),
  component: Page,
});

function Page() {
  return <NewTicket draft={Route.useSearch()} />;
}
