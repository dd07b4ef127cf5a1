import { Button, Group, Modal, Stack, Text } from "@mantine/core";

import { Copy } from "~/ui/Copy";

import { t } from "./texts";

export interface Shown {
  client_id: string;
  client_secret: string | null;
}

/** The names by which an application calls; its secret is shown this once. */
export function SecretDialog({ shown, onClose }: { shown: Shown | null; onClose: () => void }) {
  return (
    <Modal
      opened={shown !== null}
      onClose={onClose}
      title={t("secret.title")}
      closeOnClickOutside={!shown?.client_secret}
      withCloseButton={false}
    >
      {shown && (
        <Stack>
          <Text>{t("application.client_id")}</Text>
          <Copy value={shown.client_id} label={t("application.client_id")} />
          {shown.client_secret && (
            <>
              <Text>{t("secret.text")}</Text>
              <Copy value={shown.client_secret} label={t("secret.name")} />
            </>
          )}
          <Group justify="flex-end">
            <Button onClick={onClose}>{t("secret.kept")}</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
