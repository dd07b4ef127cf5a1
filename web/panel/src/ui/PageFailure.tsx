import { useQueryErrorResetBoundary } from "@tanstack/react-query";
import { useRouter, type ErrorComponentProps } from "@tanstack/react-router";

import { ErrorNote } from "./ErrorNote";

/** A page that could not be drawn. Trying again resets the queries and the route. */
export function PageFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const boundary = useQueryErrorResetBoundary();
  return (
    <ErrorNote
      error={error}
      retry={() => {
        boundary.reset();
        reset();
        void router.invalidate();
      }}
    />
  );
}
