import { createFileRoute } from "@tanstack/react-router";

import { directory } from "~/features/files/api";
import { Files } from "~/features/files/Files";
import { fromSplat } from "~/features/files/paths";
import { readView, type View } from "~/features/files/view";

export const Route = createFileRoute("/services/$service/files/$")({
  validateSearch: readView,
  loader: ({ context, params }) =>
    context.queryClient.prefetchQuery(directory(Number(params.service), fromSplat(params._splat))),
  component: Page,
});

function Page() {
  const { service, _splat } = Route.useParams();
  const view: View = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <Files
      service={Number(service)}
      path={fromSplat(_splat)}
      view={view}
      onView={(search) => void navigate({ search, replace: true })}
    />
  );
}
