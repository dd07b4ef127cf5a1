import { createFileRoute } from "@tanstack/react-router";

import { installed, templates } from "~/features/templates/api";
import { Templates } from "~/features/templates/Templates";

export const Route = createFileRoute("/services/$service/templates")({
  loader: ({ context, params }) =>
    Promise.all([
      context.queryClient.prefetchQuery(templates()),
      context.queryClient.prefetchQuery(installed(Number(params.service))),
    ]),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  return <Templates service={Number(service)} />;
}
