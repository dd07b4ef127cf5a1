import { createFileRoute } from "@tanstack/react-router";

import { me } from "~/api/me";
import { Profile } from "~/features/account/Profile";

export const Route = createFileRoute("/account/profile")({
  loader: ({ context }) => context.queryClient.prefetchQuery(me),
  component: Profile,
});
