import { createFileRoute } from "@tanstack/react-router";

import { Access } from "~/features/access/Access";
import { ftpAccounts, sshKeys } from "~/features/access/api";

export const Route = createFileRoute("/services/$service/access")({
  loader: ({ context, params }) => {
    void context.queryClient.prefetchQuery(ftpAccounts(Number(params.service)));
    return context.queryClient.prefetchQuery(sshKeys(Number(params.service)));
  },
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  return <Access service={Number(service)} />;
}
