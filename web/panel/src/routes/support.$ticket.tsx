import { createFileRoute } from "@tanstack/react-router";

import { there } from "~/app/there";
import { ticket } from "~/features/support/api";
import { TicketPage } from "~/features/support/TicketPage";

export const Route = createFileRoute("/support/$ticket")({
  loader: ({ context, params }) => there(context.queryClient, ticket(Number(params.ticket))),
  component: Page,
});

function Page() {
  const { ticket } = Route.useParams();
  return <TicketPage key={ticket} id={Number(ticket)} />;
}
