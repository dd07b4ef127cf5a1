import { useQueryErrorResetBoundary } from "@tanstack/react-query";
import { useRouter, type ErrorComponentProps } from "@tanstack/react-router";

import { FailedPage } from "./PageLoad";

/** A page that could not be drawn. Trying again resets the queries and the route. */
export function PageFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const boundary = useQueryErrorResetBoundary();
  return (
    <FailedPage
      error={error}
      retry={() => {
        boundary.reset();
        reset();
        void router.invalidate();
      }}
    />
  );
}
