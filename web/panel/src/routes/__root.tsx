import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext } from "@tanstack/react-router";

import { Shell } from "~/app/Shell";
import { loadPageTexts } from "~/i18n/parts";

export const Route = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  beforeLoad: ({ location }) => (location.pathname === "/" ? undefined : loadPageTexts()),
  // Around what is not there yet, or failed, too.
  shellComponent: Shell,
});
