import { createFileRoute } from "@tanstack/react-router";

import { releases } from "~/features/deploys/api";
import { Deploys } from "~/features/deploys/Deploys";
import { site } from "~/features/deploys/directory";

export const Route = createFileRoute("/services/$service/deploys")({
  validateSearch: (search: Record<string, unknown>): { directory?: string } => ({
    directory: typeof search.directory === "string" && search.directory !== site ? search.directory : undefined,
  }),
  loaderDeps: ({ search }) => ({ directory: search.directory ?? site }),
  loader: ({ context, params, deps }) =>
    context.queryClient.prefetchQuery(releases(Number(params.service), deps.directory)),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  const { directory = site } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <Deploys
      service={Number(service)}
      directory={directory}
      onDirectory={(next) => void navigate({ search: { directory: next === site ? undefined : next } })}
    />
  );
}
