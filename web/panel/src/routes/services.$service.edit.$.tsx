import { createFileRoute } from "@tanstack/react-router";

import { there } from "~/app/there";
import { opened } from "~/features/files/api";
import { Editor } from "~/features/files/Editor";
import { fromSplat } from "~/features/files/paths";

export const Route = createFileRoute("/services/$service/edit/$")({
  validateSearch: (search: Record<string, unknown>): { line?: number } => ({ line: Number(search.line) || undefined }),
  loader: ({ context, params }) => there(context.queryClient, opened(Number(params.service), fromSplat(params._splat))),
  component: Page,
});

function Page() {
  const { service, _splat } = Route.useParams();
  const { line } = Route.useSearch();
  return <Editor service={Number(service)} path={fromSplat(_splat)} line={line} />;
}
