import { Skeleton, Stack } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useState, type ReactNode } from "react";

import { ErrorNote } from "./ErrorNote";
import { t } from "./texts";

/** What a page shows before its first data, when they take longer than 300 ms. */
export function PageSkeleton() {
  return (
    <Stack role="status" aria-label={t("loading")} gap="md">
      <Skeleton h={32} w="40%" />
      <Skeleton h={120} />
      <Skeleton h={120} />
    </Stack>
  );
}

/** Draws a query: its data, or that it is on its way, or why it failed. Data that are there stay while they are refreshed. */
export function Load<T>({
  query,
  children,
  skeleton = <PageSkeleton />,
}: {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
  skeleton?: ReactNode;
}) {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 300);
    return () => clearTimeout(timer);
  }, []);
  // Deferred, React draws what has come in small steps: an answer alone would be drawn in one.
  const drawn = useDeferredValue(query.data !== undefined);
  if (drawn && query.data !== undefined) return children(query.data);
  if (query.error) return <ErrorNote error={query.error} retry={() => void query.refetch()} />;
  return slow ? skeleton : null;
}
