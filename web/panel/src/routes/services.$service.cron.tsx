import { createFileRoute } from "@tanstack/react-router";

import { cronJobs } from "~/features/cron/api";
import { CronJobs } from "~/features/cron/CronJobs";

export const Route = createFileRoute("/services/$service/cron")({
  loader: ({ context, params }) => context.queryClient.prefetchQuery(cronJobs(Number(params.service))),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  return <CronJobs service={Number(service)} />;
}
