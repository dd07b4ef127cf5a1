import { createFileRoute } from "@tanstack/react-router";

import { boot } from "~/app/boot";
import { dnsRecords, zoneOf } from "~/features/dns/api";
import { Dns, type Filter } from "~/features/dns/Dns";

export const Route = createFileRoute("/services/$service/dns")({
  validateSearch: (search: Record<string, unknown>): Filter => ({
    q: typeof search.q === "string" ? search.q : undefined,
    type: typeof search.type === "string" ? search.type : undefined,
    zone: typeof search.zone === "string" ? search.zone : undefined,
  }),
  loaderDeps: ({ search: { zone } }) => ({ zone }),
  loader: ({ context, params, deps }) => {
    if (!boot.client) void context.queryClient.prefetchQuery(zoneOf(Number(params.service)));
    return context.queryClient.prefetchQuery(dnsRecords(Number(params.service), deps.zone));
  },
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  const navigate = Route.useNavigate();
  return (
    <Dns
      service={Number(service)}
      filter={Route.useSearch()}
      onFilter={(search) => void navigate({ search, replace: true, resetScroll: false })}
    />
  );
}
