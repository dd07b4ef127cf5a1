import { createFileRoute } from "@tanstack/react-router";

import { there } from "~/app/there";
import { order } from "~/features/order/api";
import { readChoice } from "~/features/order/search";
import { OrderPage, type Extras } from "~/features/order/OrderPage";
import { billing } from "~/ui/billing";

export const Route = createFileRoute("/orders/$order")({
  validateSearch: (search: Record<string, unknown>): Extras => {
    const { addons, register } = readChoice(search);
    return { addons, register, topup: Number(search.topup) || undefined };
  },
  loader: ({ context, params }) => {
    void context.queryClient.prefetchQuery(billing);
    return there(context.queryClient, order(Number(params.order)));
  },
  component: Page,
});

function Page() {
  const { order: id } = Route.useParams();
  return <OrderPage id={Number(id)} extras={Route.useSearch()} />;
}
