import { createFileRoute } from "@tanstack/react-router";

import { there } from "~/app/there";
import { domain } from "~/features/domains/api";
import { DomainPage } from "~/features/domains/DomainPage";

export const Route = createFileRoute("/domains/$domain")({
  loader: ({ context, params }) => there(context.queryClient, domain(Number(params.domain))),
  component: Page,
});

function Page() {
  const { domain: id } = Route.useParams();
  return <DomainPage key={id} id={Number(id)} />;
}
