import { createFileRoute } from "@tanstack/react-router";

import { connections } from "~/features/account/api";
import { Connections } from "~/features/account/Connections";

export const Route = createFileRoute("/account/connections")({
  validateSearch: (search: Record<string, unknown>): { page?: number } => ({ page: Number(search.page) || undefined }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => context.queryClient.prefetchQuery(connections(deps.page ?? 1)),
  component: Page,
});

function Page() {
  const { page = 1 } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <Connections page={page} onPage={(next) => void navigate({ search: { page: next } })} />;
}
