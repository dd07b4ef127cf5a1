import { createFileRoute } from "@tanstack/react-router";

import { ticket } from "~/features/support/api";
import { TicketPage } from "~/features/support/TicketPage";

export const Route = createFileRoute("/support/$ticket")({
  loader: ({ context, params }) => context.queryClient.prefetchQuery(ticket(Number(params.ticket))),
  component: Page,
});

function Page() {
  const { ticket } = Route.useParams();
  return <TicketPage key={ticket} id={Number(ticket)} />;
}
