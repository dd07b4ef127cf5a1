import { createFileRoute } from "@tanstack/react-router";

import { wallet } from "~/features/wallet/api";
import { WalletPage, type Search } from "~/features/wallet/WalletPage";

const date = (value: unknown) =>
  typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined;

export const Route = createFileRoute("/wallet")({
  validateSearch: (search: Record<string, unknown>): Search => ({
    page: Number(search.page) || undefined,
    type: typeof search.type === "string" ? search.type : undefined,
    from: date(search.from),
    to: date(search.to),
    amount: Number(search.amount) > 0 ? Math.trunc(Number(search.amount)) : undefined,
    // A path of the panel and nothing else: the payment page leads there.
    back: typeof search.back === "string" && /^\/(?!\/)[\w/?=&:,.-]*$/.test(search.back) ? search.back : undefined,
    topup: Number(search.topup) || undefined,
  }),
  loader: ({ context }) => context.queryClient.prefetchQuery(wallet),
  component: Page,
});

function Page() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  return <WalletPage search={search} onSearch={(next) => void navigate({ search: next, resetScroll: false })} />;
}
