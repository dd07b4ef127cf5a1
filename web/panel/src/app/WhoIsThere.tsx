import { lazy, Suspense, useEffect, useState } from "react";

import { identity } from "~/api/session";

const IdentityDialog = lazy(() => import("./IdentityDialog").then((file) => ({ default: file.IdentityDialog })));

/** Asks for the password over the page when a call needs a recent proof of who the person is. */
export function WhoIsThere() {
  const [open, setOpen] = useState(false);
  useEffect(() => identity.onChange(setOpen), []);
  return open ? (
    <Suspense>
      <IdentityDialog />
    </Suspense>
  ) : null;
}
