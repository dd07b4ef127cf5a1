import { createFileRoute } from "@tanstack/react-router";

import { php } from "~/features/php/api";
import { PhpPage } from "~/features/php/PhpPage";

export const Route = createFileRoute("/services/$service/php")({
  loader: ({ context, params }) => context.queryClient.prefetchQuery(php(Number(params.service))),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  return <PhpPage service={Number(service)} />;
}
