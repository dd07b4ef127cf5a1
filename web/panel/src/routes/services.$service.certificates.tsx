import { createFileRoute } from "@tanstack/react-router";

import { certificates } from "~/features/certificates/api";
import { Certificates } from "~/features/certificates/Certificates";

export const Route = createFileRoute("/services/$service/certificates")({
  loader: ({ context, params }) => context.queryClient.prefetchQuery(certificates(Number(params.service))),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  return <Certificates service={Number(service)} />;
}
