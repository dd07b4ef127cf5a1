import { createFileRoute } from "@tanstack/react-router";

import { there } from "~/app/there";
import { invoice } from "~/features/invoices/api";
import { InvoicePage } from "~/features/invoices/InvoicePage";

export const Route = createFileRoute("/invoices/$invoice")({
  loader: ({ context, params }) => there(context.queryClient, invoice(Number(params.invoice))),
  component: Page,
});

function Page() {
  const { invoice: id } = Route.useParams();
  return <InvoicePage id={Number(id)} />;
}
