import { createFileRoute } from "@tanstack/react-router";

import { passwords } from "~/features/passwords/api";
import { Passwords } from "~/features/passwords/Passwords";

export const Route = createFileRoute("/services/$service/passwords")({
  loader: ({ context, params }) => context.queryClient.prefetchQuery(passwords(Number(params.service))),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  return <Passwords service={Number(service)} />;
}
