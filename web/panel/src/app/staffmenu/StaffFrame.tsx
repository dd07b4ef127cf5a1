import { Button, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Suspense } from "react";

import { ApiFailure } from "~/api/failure";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load, PageSkeleton } from "~/ui/Load";
import { NotFound } from "~/ui/NotFound";
import { me } from "~/ui/staff/api";
import type { StaffPage } from "~/ui/staff/page";

import { pageAt } from "./pages";
import { t } from "./texts";

/** Lets members of staff in to a page, and says to everybody else why not. */
export function StaffFrame({ path, ...rest }: { path: string } & Omit<StaffPage, "id">) {
  const query = useQuery(me);
  if (query.error instanceof ApiFailure && query.error.key === "second_factor_required")
    return (
      <Stack align="flex-start">
        <ErrorNote error={query.error} />
        <Button component={Link} to="/account/security">
          {t("frame.second_factor")}
        </Button>
      </Stack>
    );
  const found = pageAt(path);
  if (!found) return <NotFound />;
  return (
    <Load query={query}>
      {() => (
        <Suspense fallback={<PageSkeleton />}>
          <found.Page key={path} id={found.id} {...rest} />
        </Suspense>
      )}
    </Load>
  );
}
