import { createFileRoute } from "@tanstack/react-router";

import { orders, type Order } from "~/features/order/api";
import { statuses } from "~/features/order/search";
import { OrderList } from "~/features/order/OrderList";

export const Route = createFileRoute("/orders/")({
  validateSearch: (search: Record<string, unknown>): { page?: number; status?: Order["status"] } => ({
    page: Number(search.page) || undefined,
    status: statuses.find((one) => one === search.status),
  }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => context.queryClient.prefetchQuery(orders(deps.page ?? 1, deps.status)),
  component: Page,
});

function Page() {
  const { page, status } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <OrderList page={page} status={status} onSearch={(next) => void navigate({ search: next })} />;
}
