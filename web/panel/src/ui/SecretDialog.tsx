import { Button, Group, Modal, Stack, Text } from "@mantine/core";

import { Copy } from "./Copy";
import { t } from "./texts";

export interface Part {
  label: string;
  value: string;
}

/** What was just made, with a secret that is shown this once: only its button closes the dialog. */
export function SecretDialog({
  title,
  parts,
  secret,
  onClose,
}: {
  title: string;
  /** What belongs to the secret, such as the user's name. */
  parts: Part[];
  /** Left out when there is none. */
  secret?: Part & { text: string };
  onClose: () => void;
}) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      closeOnClickOutside={!secret}
      closeOnEscape={!secret}
      withCloseButton={false}
    >
      <Stack>
        {parts.map(({ label, value }) => (
          <div key={label}>
            <Text size="sm" c="dimmed">
              {label}
            </Text>
            <Copy value={value} label={label} />
          </div>
        ))}
        {secret && (
          <div>
            <Text>{secret.text}</Text>
            <Copy value={secret.value} label={secret.label} />
          </div>
        )}
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            {t("secret.kept")}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
