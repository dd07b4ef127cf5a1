import type { ReactNode } from "react";

import { AnchorLink } from "~/ui/AnchorLink";

/** Leads to a page of staff, named by its address below /staff/. */
export function StaffLink({
  to,
  search,
  children,
}: {
  to: string;
  search?: Record<string, string>;
  children: ReactNode;
}) {
  return (
    <AnchorLink to="/staff/$" params={{ _splat: to }} search={search ?? {}} inherit>
      {children}
    </AnchorLink>
  );
}
