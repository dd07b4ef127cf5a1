import { SecretDialog as Dialog } from "~/ui/SecretDialog";

import { t } from "./texts";

export interface Shown {
  client_id: string;
  client_secret: string | null;
}

/** The names by which an application calls; its secret is shown this once. */
export function SecretDialog({ shown, onClose }: { shown: Shown | null; onClose: () => void }) {
  if (!shown) return null;
  return (
    <Dialog
      title={t("secret.title")}
      parts={[{ label: t("application.client_id"), value: shown.client_id }]}
      secret={
        shown.client_secret
          ? { label: t("secret.name"), value: shown.client_secret, text: t("secret.text") }
          : undefined
      }
      onClose={onClose}
    />
  );
}
