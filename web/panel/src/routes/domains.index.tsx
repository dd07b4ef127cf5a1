import { createFileRoute } from "@tanstack/react-router";

import { domains } from "~/features/domains/api";
import { DomainList } from "~/features/domains/DomainList";

export const Route = createFileRoute("/domains/")({
  validateSearch: (search: Record<string, unknown>): { page?: number } => ({ page: Number(search.page) || undefined }),
  loaderDeps: ({ search }) => ({ page: search.page ?? 1 }),
  loader: ({ context, deps }) => context.queryClient.prefetchQuery(domains(deps.page)),
  component: Page,
});

function Page() {
  const { page = 1 } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <DomainList page={page} onPage={(next) => void navigate({ search: { page: next } })} />;
}
