import { createRouter } from "@tanstack/react-router";

import { routeTree } from "~/routeTree.gen";
import { PageFailure } from "~/ui/PageFailure";
import { NotFound } from "~/ui/NotFound";
import { PageSkeleton } from "~/ui/Load";

import { boot } from "./boot";
import { queryClient } from "./queries";

export const router = createRouter({
  routeTree,
  basepath: boot.base,
  context: { queryClient },
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  defaultPendingMs: 300,
  defaultPendingComponent: PageSkeleton,
  defaultErrorComponent: PageFailure,
  defaultNotFoundComponent: NotFound,
  // What was typed about one thing does not stand on the page of another. The path of a file or folder is a place in one thing.
  defaultRemountDeps: ({ params }) => ({ ...params, _splat: undefined }),
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
