import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { newKey } from "~/api/client";
import { money } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { ErrorNote } from "~/ui/ErrorNote";
import { done } from "~/ui/notice";
import { When } from "~/ui/When";

import { restore, type Service } from "./api";
import { t } from "./texts";

/** Brings a service back that has ended, as long as its final backup is kept; it says first what that costs. */
export function BringBack({ service }: { service: Service }) {
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <Button size="sm" onClick={open}>
        {t("back")}
      </Button>
      <Modal opened={opened} onClose={close} title={t("back.title", { name: service.unicode_domain ?? service.label })}>
        <Asked service={service} close={close} />
      </Modal>
    </>
  );
}

function Asked({ service, close }: { service: Service; close: () => void }) {
  const [key] = useState(newKey);
  const [asked] = useState(Date.now);
  const queries = useQueryClient();
  const [run, { busy, error }] = useAction(async () => {
    await restore(service.id, key);
    await Promise.all(
      ["service", "services", "wallet", "orders"].map((what) => queries.invalidateQueries({ queryKey: [what] })),
    );
    close();
    done(t("back.done"));
  });
  const paid = service.expires_at !== null && Date.parse(service.expires_at) > asked ? service.expires_at : null;
  return (
    <Stack>
      <Text>{t("back.text")}</Text>
      <Text>
        {paid ? (
          <>
            {t("back.paid")} <When time={paid} form="day" />
          </>
        ) : (
          t("back.price", { price: money(service.renew_price), count: service.period_months })
        )}
      </Text>
      <ErrorNote error={error} />
      <Group justify="flex-end">
        <Button variant="default" onClick={close}>
          {t("back.cancel")}
        </Button>
        <Button loading={busy} onClick={() => void run()} data-autofocus>
          {t("back")}
        </Button>
      </Group>
    </Stack>
  );
}
