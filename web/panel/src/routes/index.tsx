import { createFileRoute } from "@tanstack/react-router";

import { boot } from "~/app/boot";
import { ClientOverview } from "~/features/client/ClientOverview";
import { Overview } from "~/features/overview/Overview";

export const Route = createFileRoute("/")({ component: Page });

function Page() {
  return boot.client ? <ClientOverview client={boot.client} /> : <Overview />;
}
