import { createFileRoute } from "@tanstack/react-router";

import { securityLog } from "~/features/account/api";
import { SecurityLog } from "~/features/account/SecurityLog";

export const Route = createFileRoute("/account/log")({
  validateSearch: (search: Record<string, unknown>): { page?: number } => ({ page: Number(search.page) || undefined }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => context.queryClient.prefetchQuery(securityLog(deps.page ?? 1)),
  component: Page,
});

function Page() {
  const { page = 1 } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <SecurityLog page={page} onPage={(next) => void navigate({ search: { page: next } })} />;
}
