import { createFileRoute } from "@tanstack/react-router";

import { there } from "~/app/there";
import { application } from "~/features/account/api";
import { ApplicationPage } from "~/features/account/ApplicationPage";

export const Route = createFileRoute("/account/applications/$application")({
  loader: ({ context, params }) => there(context.queryClient, application(Number(params.application))),
  component: Page,
});

function Page() {
  return <ApplicationPage id={Number(Route.useParams().application)} />;
}
