import { createFileRoute } from "@tanstack/react-router";

import { sessions } from "~/features/account/api";
import { Sessions } from "~/features/account/Sessions";

export const Route = createFileRoute("/account/sessions")({
  validateSearch: (search: Record<string, unknown>): { page?: number } => ({ page: Number(search.page) || undefined }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => context.queryClient.prefetchQuery(sessions(deps.page ?? 1)),
  component: Page,
});

function Page() {
  const { page = 1 } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <Sessions page={page} onPage={(next) => void navigate({ search: { page: next } })} />;
}
