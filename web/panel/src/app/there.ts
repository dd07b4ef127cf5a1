import type { FetchQueryOptions, QueryClient, QueryKey } from "@tanstack/react-query";
import { notFound } from "@tanstack/react-router";

import { ApiFailure } from "~/api/failure";

/** Reads what a page is of. One that is not there, or is another's, has the page that says so; other failures are told by the page. */
export async function there<T, K extends QueryKey>(client: QueryClient, options: FetchQueryOptions<T, Error, T, K>) {
  try {
    await client.fetchQuery(options);
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 404) throw notFound();
  }
}
