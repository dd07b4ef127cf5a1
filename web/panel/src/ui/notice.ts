import { notifications } from "@mantine/notifications";

import { ApiFailure, isAbort } from "~/api/failure";

import { t } from "./texts";

/** A short text that something was done. */
export const done = (message: string) => notifications.show({ message, color: "green", autoClose: 4000 });

/** A text that something did not come about, though the request was answered. It stays until it is closed. */
export const refused = (message: string) =>
  notifications.show({ message, color: "red", autoClose: false, withCloseButton: true });

/** What was refused, where no form shows it. */
export const failed = (error: unknown) => {
  if (isAbort(error)) return;
  const failure = error instanceof ApiFailure ? error : null;
  notifications.show({
    title: failure?.message || t(failure?.key === "network" ? "error.network" : "error.unexpected"),
    message: failure?.requestId ? `${t("error.request_id")} ${failure.requestId}` : "",
    color: "red",
    autoClose: false,
    withCloseButton: true,
  });
};
