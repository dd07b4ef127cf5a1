import { createFileRoute, notFound } from "@tanstack/react-router";

import { ApiFailure } from "~/api/failure";
import { service, type World } from "~/features/reseller/api";
import { ServicePage } from "~/features/reseller/ServicePage";

// The parameter is named apart: what is called $service is a service of the account, whose menu the frame shows.
export const Route = createFileRoute("/reseller/services/$resold")({
  validateSearch: (search: Record<string, unknown>): { world?: World } => ({
    world: search.world === "sandbox" ? "sandbox" : undefined,
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context, params, deps: { world = "live" } }) => {
    const id = Number(params.resold);
    if (!Number.isSafeInteger(id) || id < 1) throw notFound();
    try {
      await context.queryClient.ensureQueryData(service(world, id));
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 404) throw notFound();
      // What else is wrong is said by the page.
    }
  },
  component: Page,
});

function Page() {
  const { resold: id } = Route.useParams();
  const { world = "live" } = Route.useSearch();
  return <ServicePage key={`${world} ${id}`} world={world} id={Number(id)} />;
}
