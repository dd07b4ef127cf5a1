import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconShieldQuestion } from "@tabler/icons-react";
import { useState } from "react";

import { ApiFailure } from "~/api/failure";
import { useAction } from "~/ui/action";
import { AnchorLink } from "~/ui/AnchorLink";
import { ErrorNote } from "~/ui/ErrorNote";
import { RecordFields, type DNSRecord } from "~/ui/RecordFields";

import { checkClaim, type World } from "./api";
import { t } from "./texts";

/** Why something was not sold or paid, and the way on: money, a proof of the domain, or another name. */
export function Refusal({
  error,
  world,
  back,
  onProven,
}: {
  error: unknown;
  world: World;
  /** Path of the page to which topping up leads back. */
  back: string;
  /** Called when the domain is proven, and what was refused can be done. */
  onProven?: () => void;
}) {
  if (!(error instanceof ApiFailure)) return <ErrorNote error={error} />;
  const { domain, record } = error.details;
  if (error.key === "insufficient_funds") return <Lacking title={error.message} world={world} back={back} />;
  if (error.key === "domain_verification_required" && typeof domain === "string")
    return <Proof domain={domain} record={record as DNSRecord | undefined} world={world} onProven={onProven} />;
  return <ErrorNote error={error} />;
}

/** The wallet does not pay for it. */
export function Lacking({ title, cents, world, back }: { title: string; cents?: number; world: World; back: string }) {
  return (
    <Alert color="orange" role="alert" icon={<IconAlertTriangle aria-hidden />} title={title}>
      {world === "live" ? (
        <AnchorLink to="/wallet" search={{ amount: cents, back }}>
          {t("top_up")}
        </AnchorLink>
      ) : (
        <Text size="sm">{t("sandbox_money")}</Text>
      )}
    </Alert>
  );
}

/** Whoever has the domain proves it by a record; the client sets it, or the reseller for them. */
function Proof({
  domain,
  record,
  world,
  onProven,
}: {
  domain: string;
  record?: DNSRecord;
  world: World;
  onProven?: () => void;
}) {
  const [missing, setMissing] = useState(false);
  const [check, { busy, error }] = useAction(async () => {
    const { holds } = await checkClaim(world, domain);
    setMissing(!holds);
    if (holds) onProven?.();
  });
  return (
    <Alert color="orange" role="alert" icon={<IconShieldQuestion aria-hidden />} title={t("proof.title", { domain })}>
      <Stack gap="xs">
        <Text size="sm">{t("proof.text", { domain })}</Text>
        {record && <RecordFields record={record} />}
        <Group gap="sm">
          <Button size="compact-sm" variant="default" type="button" loading={busy} onClick={() => void check()}>
            {t("proof.check")}
          </Button>
          <Text size="sm" role="status">
            {missing && t("proof.missing")}
          </Text>
        </Group>
        <ErrorNote error={error} />
      </Stack>
    </Alert>
  );
}
