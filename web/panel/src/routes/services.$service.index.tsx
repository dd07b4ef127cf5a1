import { createFileRoute } from "@tanstack/react-router";

import { service } from "~/features/services/api";
import { ServiceOverview } from "~/features/services/ServiceOverview";

export const Route = createFileRoute("/services/$service/")({
  loader: ({ context, params }) => context.queryClient.prefetchQuery(service(Number(params.service))),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  return <ServiceOverview id={Number(service)} />;
}
