import { createFileRoute } from "@tanstack/react-router";

import { boot } from "~/app/boot";
import { ClientOverview } from "~/features/client/ClientOverview";
import { loadOverview } from "~/features/overview/api";
import { Overview } from "~/features/overview/Overview";

export const Route = createFileRoute("/")({
  loader: ({ context }) => (boot.client ? undefined : loadOverview(context.queryClient)),
  component: Page,
});

function Page() {
  return boot.client ? <ClientOverview client={boot.client} /> : <Overview />;
}
