import { createFileRoute } from "@tanstack/react-router";

import { statistics } from "~/features/statistics/api";
import { isRange, type Range } from "~/features/statistics/periods";
import { Statistics } from "~/features/statistics/Statistics";

const usual: Range = 30;

export const Route = createFileRoute("/services/$service/statistics")({
  validateSearch: (search: Record<string, unknown>): { days?: Range } => ({
    days: isRange(search.days) ? search.days : undefined,
  }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, params, deps }) =>
    context.queryClient.prefetchQuery(statistics(Number(params.service), deps.days ?? usual)),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  const { days = usual } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <Statistics
      service={Number(service)}
      days={days}
      onDays={(next) => void navigate({ search: { days: next }, replace: true })}
    />
  );
}
