import { createFileRoute } from "@tanstack/react-router";

import { services } from "~/features/services/api";
import { ServiceList } from "~/features/services/ServiceList";

export const Route = createFileRoute("/services/")({
  validateSearch: (search: Record<string, unknown>): { page?: number } => ({ page: Number(search.page) || undefined }),
  loaderDeps: ({ search }) => ({ page: search.page ?? 1 }),
  loader: ({ context, deps }) => context.queryClient.prefetchQuery(services(deps.page)),
  component: Page,
});

function Page() {
  const { page = 1 } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <ServiceList page={page} onPage={(next) => void navigate({ search: { page: next } })} />;
}
