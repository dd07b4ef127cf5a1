import { createFileRoute } from "@tanstack/react-router";

import { dataExport } from "~/features/account/api";
import { Data } from "~/features/account/Data";

export const Route = createFileRoute("/account/data")({
  loader: ({ context }) => context.queryClient.prefetchQuery(dataExport),
  component: Data,
});
