import { createFileRoute, notFound } from "@tanstack/react-router";

import { ApiFailure } from "~/api/failure";
import { boot } from "~/app/boot";
import { service } from "~/features/services/api";

/** All pages of a service. One that is not there, or is another's, has one page that says so instead of an error in each part. */
export const Route = createFileRoute("/services/$service")({
  loader: async ({ context, params }) => {
    const id = Number(params.service);
    if (!Number.isSafeInteger(id) || id < 1) throw notFound();
    if (boot.client) return; // they have but one
    try {
      await context.queryClient.ensureQueryData(service(id));
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 404) throw notFound();
      // What else is wrong is said by the part that needs what could not be had.
    }
  },
});
