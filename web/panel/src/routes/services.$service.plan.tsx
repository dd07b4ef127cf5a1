import { createFileRoute } from "@tanstack/react-router";

import { service } from "~/features/plan/api";
import { PlanPage } from "~/features/plan/PlanPage";

export const Route = createFileRoute("/services/$service/plan")({
  loader: ({ context, params }) => context.queryClient.prefetchQuery(service(Number(params.service))),
  component: Page,
});

function Page() {
  const { service: id } = Route.useParams();
  return <PlanPage id={Number(id)} />;
}
