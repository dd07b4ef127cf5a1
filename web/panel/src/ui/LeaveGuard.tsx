import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";

import { drafts } from "./drafts";
import { t } from "./texts";

/**
 * Asks before the page, or the window, is left with drafts under a prefix. Who leaves anyway gives them up. `onLeave` closes a
 * form that stands over the pages, such as in a drawer: it would stay with what was given up.
 */
export function LeaveGuard({ of, onLeave }: { of: string; onLeave?: () => void }) {
  const unsaved = () => drafts.under(of).length > 0;
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname && unsaved(),
    enableBeforeUnload: unsaved,
    withResolver: true,
  });
  return (
    <Modal opened={blocker.status === "blocked"} onClose={() => blocker.reset?.()} title={t("leave")}>
      <Stack>
        <Text>{t("leave.text")}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={() => blocker.reset?.()}>
            {t("leave.stay")}
          </Button>
          <Button
            color="red"
            onClick={() => {
              drafts.under(of).forEach((key) => drafts.keep(key, null));
              onLeave?.();
              blocker.proceed?.();
            }}
          >
            {t("leave.discard")}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
