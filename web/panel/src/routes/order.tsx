import { createFileRoute } from "@tanstack/react-router";

import { catalog } from "~/features/order/api";
import { readChoice } from "~/features/order/search";
import { OrderForm } from "~/features/order/OrderForm";

export const Route = createFileRoute("/order")({
  validateSearch: readChoice,
  loader: ({ context }) => context.queryClient.prefetchQuery(catalog),
  component: Page,
});

function Page() {
  const choice = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <OrderForm
      choice={choice}
      onChoice={(next) => void navigate({ search: next, replace: true, resetScroll: false })}
    />
  );
}
