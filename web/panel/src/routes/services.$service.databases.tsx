import { createFileRoute } from "@tanstack/react-router";

import { databases } from "~/features/databases/api";
import { Databases } from "~/features/databases/Databases";

export const Route = createFileRoute("/services/$service/databases")({
  loader: ({ context, params }) => context.queryClient.prefetchQuery(databases(Number(params.service))),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  return <Databases service={Number(service)} />;
}
