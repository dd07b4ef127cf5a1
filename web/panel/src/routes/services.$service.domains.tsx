import { createFileRoute } from "@tanstack/react-router";

import { domains } from "~/features/hosteddomains/api";
import { Domains } from "~/features/hosteddomains/Domains";

export const Route = createFileRoute("/services/$service/domains")({
  loader: ({ context, params }) => context.queryClient.prefetchQuery(domains(Number(params.service))),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  return <Domains service={Number(service)} />;
}
