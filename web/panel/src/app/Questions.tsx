import { lazy, Suspense, useEffect, useState } from "react";

import { identity, leaving } from "~/api/session";

const IdentityDialog = lazy(() => import("./IdentityDialog").then((file) => ({ default: file.IdentityDialog })));
const LeaveDialog = lazy(() => import("./LeaveDialog").then((file) => ({ default: file.LeaveDialog })));

/** Questions over the page that something waits for: who the person is, and whether to give up what is not saved. */
export function Questions() {
  const [who, setWho] = useState(false);
  const [leave, setLeave] = useState(false);
  useEffect(() => identity.onChange(setWho), []);
  useEffect(() => leaving.onChange(setLeave), []);
  return (
    <Suspense>
      {who && <IdentityDialog />}
      {leave && <LeaveDialog />}
    </Suspense>
  );
}
