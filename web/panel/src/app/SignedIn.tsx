import { useEffect } from "react";

import { channel } from "~/api/session";

import { boot } from "./boot";
import { signInOf } from "./signin";
import { t } from "./texts";

/** The end of signing in from the session's dialog: tells the waiting page, and closes its window. */
export function SignedIn() {
  useEffect(() => {
    channel.postMessage(signInOf(boot));
    window.close();
  }, []);
  return <p>{t("session.close")}</p>;
}
