import { createFileRoute } from "@tanstack/react-router";

import { sources, type Source } from "~/features/logs/api";
import { Logs, type View } from "~/features/logs/Logs";

export const Route = createFileRoute("/services/$service/logs")({
  validateSearch: (search: Record<string, unknown>): View => ({
    type: sources.includes(search.type as Source) ? (search.type as Source) : undefined,
    q: search.q === undefined ? undefined : String(search.q),
  }),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  const view = Route.useSearch();
  const navigate = Route.useNavigate();
  return <Logs service={Number(service)} view={view} onView={(search) => void navigate({ search, replace: true })} />;
}
