import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconShieldQuestion } from "@tabler/icons-react";
import { useState } from "react";

import { useAction } from "~/ui/action";
import { Copy } from "~/ui/Copy";
import { ErrorNote } from "~/ui/ErrorNote";
import { RecordFields, type DNSRecord } from "~/ui/RecordFields";
import { When } from "~/ui/When";

import { checkClaim, type Claim } from "./api";
import { t } from "./texts";

/** The record that proves a domain, and a look for it now. */
export function Proof({
  domain,
  record,
  nameservers = [],
  onProven,
}: {
  domain: string;
  record: DNSRecord | null;
  nameservers?: string[];
  onProven: () => void | Promise<unknown>;
}) {
  const [claim, setClaim] = useState<Claim | null>(null);
  const [check, { busy, error }] = useAction(async () => {
    const found = await checkClaim(domain);
    setClaim(found);
    if (found.holds) await onProven();
  });
  const servers = claim?.nameservers.length ? claim.nameservers : nameservers;
  return (
    <Alert color="orange" variant="light" icon={<IconShieldQuestion aria-hidden />} title={t("proof.title")}>
      <Stack gap="xs">
        <Text size="sm">{t("proof.text")}</Text>
        {record && <RecordFields record={record} />}
        {servers.length > 0 && (
          <Text size="sm" component="div">
            {t("proof.nameservers")}{" "}
            {servers.map((server) => (
              <Copy key={server} value={server} />
            ))}
          </Text>
        )}
        <Group gap="sm">
          <Button size="compact-sm" type="button" variant="default" loading={busy} onClick={() => void check()}>
            {t("proof.check")}
          </Button>
          <Text size="sm" role="status">
            {claim && (claim.holds ? t("proof.found") : t("proof.not_found"))}{" "}
            {claim && !claim.holds && (
              <>
                {t("proof.next")} <When time={claim.next_check_at} form="relative" />
              </>
            )}
          </Text>
        </Group>
        <ErrorNote error={error} />
      </Stack>
    </Alert>
  );
}
