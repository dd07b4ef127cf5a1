import { Button, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";

import { TopUp } from "~/ui/topup/TopUp";

import { playTill } from "./api";
import { t } from "./texts";

/** Tops the sandbox up with play money, by the same steps as a wallet with money. */
export function PlayMoney({ cents = 10_000, back }: { cents?: number; back: string }) {
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <Button variant="light" size="compact-sm" type="button" onClick={open}>
        {t("play_money")}
      </Button>
      <Modal opened={opened} onClose={close} title={t("play_money")}>
        <Stack>
          <Text size="sm">{t("play_money.text")}</Text>
          <TopUp till={playTill} cents={cents} back={back} />
        </Stack>
      </Modal>
    </>
  );
}
