import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { newKey } from "~/api/client";
import { gross, less, money } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { billing, type Profile } from "~/ui/billing";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { Refusal } from "~/ui/proof/Refusal";
import { TaxNote } from "~/ui/TaxNote";
import { When } from "~/ui/When";

import { restore, type Service } from "./api";
import { t } from "./texts";

/** Brings a service back that has ended, as long as its final backup is kept; it says first what that costs. */
export function BringBack({ service }: { service: Service }) {
  const [opened, { open, close }] = useDisclosure();
  const tax = useQuery(billing);
  return (
    <>
      <Button size="sm" onClick={open}>
        {t("back")}
      </Button>
      <Modal opened={opened} onClose={close} title={t("back.title", { name: service.unicode_domain ?? service.label })}>
        <Load query={tax}>{(by) => <Asked service={service} by={by} close={close} />}</Load>
      </Modal>
    </>
  );
}

function Asked({ service, by, close }: { service: Service; by: Profile; close: () => void }) {
  const [key] = useState(newKey);
  const [asked] = useState(Date.now);
  const queries = useQueryClient();
  const [run, { busy, error, clear }] = useAction(async () => {
    await restore(service.id, key);
    await Promise.all(
      ["service", "services", "wallet", "orders"].map((what) => queries.invalidateQueries({ queryKey: [what] })),
    );
    close();
    done(t("back.done"));
  });
  const paid = service.expires_at !== null && Date.parse(service.expires_at) > asked ? service.expires_at : null;
  const total = gross(service.renew_price, by);
  return (
    <Stack>
      <Text>{t("back.text")}</Text>
      <Text>
        {paid ? (
          <>
            {t("back.paid")} <When time={paid} form="day" />
          </>
        ) : (
          t("back.price", { price: money(total), count: service.period_months })
        )}
      </Text>
      {!paid && <TaxNote tax={less(total, service.renew_price)} name={by.tax_name} />}
      <Refusal error={error} onProven={clear} />
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
