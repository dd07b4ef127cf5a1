import { createFileRoute } from "@tanstack/react-router";

import { there } from "~/app/there";
import { monitor } from "~/features/monitors/api";
import { MonitorPage } from "~/features/monitors/MonitorPage";
import { ranges, type Range } from "~/features/monitors/ranges";

export const Route = createFileRoute("/monitors/$monitor")({
  validateSearch: (search: Record<string, unknown>): { range?: Range } => ({
    range: ranges.find((one) => one === search.range),
  }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, params, deps }) =>
    there(context.queryClient, monitor(Number(params.monitor), deps.range ?? "24h")),
  component: Page,
});

function Page() {
  const { monitor: id } = Route.useParams();
  const { range = "24h" } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <MonitorPage
      key={id}
      id={Number(id)}
      range={range}
      onRange={(next) => void navigate({ search: { range: next }, resetScroll: false })}
    />
  );
}
