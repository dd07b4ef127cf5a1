import { createFileRoute } from "@tanstack/react-router";

import { applications } from "~/features/account/api";
import { Applications } from "~/features/account/Applications";

export const Route = createFileRoute("/account/applications/")({
  validateSearch: (search: Record<string, unknown>): { page?: number } => ({ page: Number(search.page) || undefined }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => context.queryClient.prefetchQuery(applications(deps.page ?? 1)),
  component: Page,
});

function Page() {
  const { page = 1 } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <Applications page={page} onPage={(next) => void navigate({ search: { page: next } })} />;
}
