import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { ApiFailure } from "~/api/failure";

import { ErrorNote } from "./ErrorNote";
import { Load } from "./Load";
import { NotFound } from "./NotFound";
import { PageHeader } from "./PageHeader";
import { t } from "./texts";

/** Draws the query of a page whose heading is of its data. A page that fails has a heading and a title of its own. */
export function PageLoad<T>({ query, children }: { query: UseQueryResult<T>; children: (data: T) => ReactNode }) {
  if (query.error && query.data === undefined)
    return <FailedPage error={query.error} retry={() => void query.refetch()} />;
  return <Load query={query}>{children}</Load>;
}

/** A page that cannot be shown, and a way on. */
export function FailedPage({ error, retry }: { error: unknown; retry: () => void }) {
  if (error instanceof ApiFailure && error.status === 404) return <NotFound />;
  return (
    <>
      <PageHeader title={t("failed.title")} />
      <ErrorNote error={error} retry={retry} />
    </>
  );
}
