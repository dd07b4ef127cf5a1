import { createFileRoute, notFound, redirect } from "@tanstack/react-router";

import { services } from "~/features/services/api";
import { ServiceChoice } from "~/features/services/ServiceChoice";
import { servicePages } from "~/app/navigation";

/** A page of whichever service it is: articles lead here, such as to /service/dns. */
export const Route = createFileRoute("/service/$page")({
  loader: async ({ context, params }) => {
    if (!servicePages.some(({ to }) => to === `/${params.page}`)) throw notFound();
    const { data, meta } = await context.queryClient.fetchQuery(services(1));
    const [only] = data;
    if (only && meta.total === 1) throw redirect({ href: `/services/${only.id}/${params.page}`, replace: true });
  },
  component: Page,
});

function Page() {
  return <ServiceChoice page={Route.useParams().page} />;
}
