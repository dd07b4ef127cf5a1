import { Button, Group, Modal, Stack, Text } from "@mantine/core";

import { leaving } from "~/api/session";

import { t } from "./texts";

/** Asks before the panel is left with drafts, or with uploads under way. */
export function LeaveDialog() {
  const answer = (leave: boolean) => () => leaving.resume(leave);
  return (
    <Modal opened onClose={answer(false)} title={t("leave")} centered>
      <Stack>
        <Text>{t("leave.text")}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={answer(false)} data-autofocus>
            {t("leave.stay")}
          </Button>
          <Button color="red" onClick={answer(true)}>
            {t("leave.discard")}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
