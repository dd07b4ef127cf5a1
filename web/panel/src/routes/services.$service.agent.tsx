import { createFileRoute } from "@tanstack/react-router";

import { Agent, type Tab, type View } from "~/features/agent/Agent";

const tabs: readonly unknown[] = ["conversation", "insights", "settings"];

export const Route = createFileRoute("/services/$service/agent")({
  validateSearch: (search: Record<string, unknown>): View => ({
    tab: tabs.includes(search.tab) ? (search.tab as Tab) : undefined,
    conversation: Number(search.conversation) || undefined,
    task: typeof search.task === "string" ? search.task : undefined,
  }),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  const view = Route.useSearch();
  const navigate = Route.useNavigate();
  return <Agent service={Number(service)} view={view} onView={(search) => void navigate({ search })} />;
}
