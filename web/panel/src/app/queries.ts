import { QueryClient } from "@tanstack/react-query";

import { ApiFailure } from "~/api/failure";

/** A read is tried again when the network or the server fails, never when it was refused. */
const transient = (error: unknown) =>
  error instanceof ApiFailure && (error.status === 0 || error.status === 429 || error.status >= 502);

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, error) => transient(error) && count < 2,
      retryDelay: (count, error) =>
        error instanceof ApiFailure && error.retryAfter ? error.retryAfter * 1000 : 500 * 2 ** count,
    },
  },
});
