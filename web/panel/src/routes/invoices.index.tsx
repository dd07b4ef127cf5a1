import { createFileRoute } from "@tanstack/react-router";

import { invoices } from "~/features/invoices/api";
import { InvoiceList } from "~/features/invoices/InvoiceList";
import { kinds, type Kind } from "~/features/invoices/kinds";

export const Route = createFileRoute("/invoices/")({
  validateSearch: (search: Record<string, unknown>): { page?: number; kind?: Kind } => ({
    page: Number(search.page) || undefined,
    kind: kinds.find((one) => one === search.kind),
  }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => context.queryClient.prefetchQuery(invoices(deps.page ?? 1, deps.kind)),
  component: Page,
});

function Page() {
  const { page, kind } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <InvoiceList page={page} kind={kind} onSearch={(next) => void navigate({ search: next })} />;
}
