import { Button, Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useEffect, useRef } from "react";

import { failed } from "./notice";
import { t } from "./texts";

/**
 * Says that something was done at once, and takes it back on request. It stays until it is closed, and has the focus, so
 * that a keyboard reaches it.
 */
export function undoable(message: string, undo: () => Promise<unknown>) {
  const id = crypto.randomUUID();
  const back = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  notifications.show({
    id,
    autoClose: false,
    withCloseButton: true,
    message: (
      <Undo
        message={message}
        undo={async () => {
          notifications.hide(id);
          const next = back?.isConnected ? back : document.querySelector<HTMLElement>("h1");
          next?.focus();
          await undo().catch(failed);
        }}
      />
    ),
  });
}

function Undo({ message, undo }: { message: string; undo: () => Promise<void> }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus({ preventScroll: true }), []);
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm">{message}</Text>
      <Button ref={button} size="compact-sm" variant="light" onClick={() => void undo()}>
        {t("undo")}
      </Button>
    </Group>
  );
}
