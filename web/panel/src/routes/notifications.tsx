import { createFileRoute } from "@tanstack/react-router";

import { notifications } from "~/features/notifications/api";
import { Notifications } from "~/features/notifications/Notifications";

export const Route = createFileRoute("/notifications")({
  validateSearch: (search: Record<string, unknown>): { page?: number; unread?: boolean } => ({
    page: Number(search.page) || undefined,
    unread: search.unread === true || undefined,
  }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => context.queryClient.prefetchQuery(notifications(deps.page ?? 1, deps.unread ?? false)),
  component: Page,
});

function Page() {
  const { page, unread } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <Notifications page={page} unread={unread} onSearch={(next) => void navigate({ search: next })} />;
}
