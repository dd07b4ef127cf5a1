import { createFileRoute } from "@tanstack/react-router";

import { SignedIn } from "~/app/SignedIn";

export const Route = createFileRoute("/signed-in")({ component: SignedIn });
