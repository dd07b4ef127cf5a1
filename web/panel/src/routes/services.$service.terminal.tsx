import { createFileRoute } from "@tanstack/react-router";

import { TerminalPage } from "~/features/terminal/TerminalPage";

export const Route = createFileRoute("/services/$service/terminal")({ component: Page });

function Page() {
  const { service } = Route.useParams();
  return <TerminalPage service={Number(service)} />;
}
