import { createFileRoute } from "@tanstack/react-router";

import { backups } from "~/features/backups/api";
import { Backups } from "~/features/backups/Backups";

export const Route = createFileRoute("/services/$service/backups")({
  validateSearch: (search: Record<string, unknown>): { page?: number; path?: string } => ({
    page: Number(search.page) || undefined,
    path: typeof search.path === "string" ? search.path : undefined,
  }),
  loaderDeps: ({ search }) => ({ page: search.page ?? 1 }),
  loader: ({ context, params, deps }) => context.queryClient.prefetchQuery(backups(Number(params.service), deps.page)),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  const { page = 1, path } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <Backups
      service={Number(service)}
      page={page}
      path={path}
      onPage={(next) => void navigate({ search: { page: next, path } })}
    />
  );
}
