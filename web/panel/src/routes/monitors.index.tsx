import { createFileRoute } from "@tanstack/react-router";

import { monitors } from "~/features/monitors/api";
import { MonitorList } from "~/features/monitors/MonitorList";

export const Route = createFileRoute("/monitors/")({
  validateSearch: (search: Record<string, unknown>): { page?: number } => ({ page: Number(search.page) || undefined }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => context.queryClient.prefetchQuery(monitors(deps.page ?? 1)),
  component: Page,
});

function Page() {
  const { page } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <MonitorList page={page} onPage={(next) => void navigate({ search: { page: next } })} />;
}
