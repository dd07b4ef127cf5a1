import { createFileRoute } from "@tanstack/react-router";

import { closing, dataExport } from "~/features/account/api";
import { Data } from "~/features/account/Data";

export const Route = createFileRoute("/account/data")({
  loader: ({ context }) =>
    Promise.all([context.queryClient.prefetchQuery(dataExport), context.queryClient.prefetchQuery(closing)]),
  component: Data,
});
