import { createFileRoute } from "@tanstack/react-router";

import { devices } from "~/features/account/api";
import { Devices } from "~/features/account/Devices";

export const Route = createFileRoute("/account/devices")({
  loader: ({ context }) => context.queryClient.prefetchQuery(devices),
  component: Devices,
});
