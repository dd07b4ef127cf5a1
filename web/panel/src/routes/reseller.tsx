import { createFileRoute, redirect } from "@tanstack/react-router";

import { boot } from "~/app/boot";

/** The pages of resellers. Everybody else is led to the overview. */
export const Route = createFileRoute("/reseller")({
  beforeLoad: () => {
    if (!boot.account?.reseller) throw redirect({ to: "/" });
  },
});
