import { createFileRoute } from "@tanstack/react-router";

import { posture } from "~/features/health/api";
import { Health } from "~/features/health/Health";

export const Route = createFileRoute("/services/$service/health")({
  loader: ({ context, params }) => context.queryClient.prefetchQuery(posture(Number(params.service))),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  return <Health key={service} service={Number(service)} />;
}
