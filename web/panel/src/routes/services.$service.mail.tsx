import { createFileRoute } from "@tanstack/react-router";

import { mailboxes } from "~/features/mail/api";
import { Mailboxes } from "~/features/mail/Mailboxes";

export const Route = createFileRoute("/services/$service/mail")({
  validateSearch: (search: Record<string, unknown>): { page?: number } => ({ page: Number(search.page) || undefined }),
  loaderDeps: ({ search }) => ({ page: search.page ?? 1 }),
  loader: ({ context, params, deps }) =>
    context.queryClient.prefetchQuery(mailboxes(Number(params.service), deps.page)),
  component: Page,
});

function Page() {
  const { service } = Route.useParams();
  const { page = 1 } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <Mailboxes service={Number(service)} page={page} onPage={(next) => void navigate({ search: { page: next } })} />
  );
}
