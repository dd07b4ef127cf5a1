import { createFileRoute } from "@tanstack/react-router";

import { StaffFrame } from "~/app/staffmenu/StaffFrame";
import { loadStaffTexts } from "~/i18n/parts";
import { me } from "~/ui/staff/api";

// One route for all pages of staff (app/staffmenu/pages.ts), so that they do not weigh on the first load of customers.
export const Route = createFileRoute("/staff/$")({
  validateSearch: (search: Record<string, unknown>) => search,
  loader: ({ context }) => Promise.all([loadStaffTexts(), context.queryClient.prefetchQuery(me)]),
  component: Page,
});

function Page() {
  const { _splat: path = "" } = Route.useParams();
  const navigate = Route.useNavigate();
  return <StaffFrame path={path} search={Route.useSearch()} onSearch={(search) => void navigate({ search })} />;
}
