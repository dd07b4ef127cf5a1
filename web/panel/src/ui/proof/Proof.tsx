import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconShieldQuestion } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { boot } from "~/app/boot";
import { useAction } from "~/ui/action";
import { Copy } from "~/ui/Copy";
import { ErrorNote } from "~/ui/ErrorNote";
import { RecordFields, type DNSRecord } from "~/ui/RecordFields";
import { When } from "~/ui/When";

import { checkClaim, type Claim } from "./api";
import { t } from "./texts";

/** How a domain is proven: the record to set, and a look for it now. */
export interface ProofProps {
  domain: string;
  record: DNSRecord | null;
  /** Delegating the domain to these proves it, too. */
  nameservers?: string[];
  /** Who has to do what, where that is not the reader. */
  text?: string;
  /** Asks for a look into the DNS, which the reseller's page does in its own world. */
  check?: (domain: string) => Promise<Claim>;
  /** Called after each look that somebody asked for. */
  onLooked: (proven: boolean) => unknown;
}

export function Proof(props: ProofProps) {
  const { domain, record, nameservers = [], text = t("text"), check = checkClaim, onLooked } = props;
  const [asked, setAsked] = useState<Claim | null>(null);
  // A refusal leaves nothing behind. This has the server look into the DNS from now on, also when the page is closed.
  const { data: kept } = useQuery({
    queryKey: ["claim", domain, record?.value],
    queryFn: () => check(domain),
    enabled: !boot.client, // who may look is the account
    retry: false,
    gcTime: 0,
    staleTime: Infinity,
  });
  const [look, { busy, error }] = useAction(async () => {
    const found = await check(domain);
    setAsked(found);
    await onLooked(found.cleared);
  });
  const claim = asked ?? kept;
  const servers = claim?.nameservers ?? nameservers;
  return (
    <Alert color="orange" variant="light" icon={<IconShieldQuestion aria-hidden />} title={t("title", { domain })}>
      <Stack gap="xs">
        <Text size="sm">{text}</Text>
        {record && <RecordFields record={record} />}
        {servers.length > 0 && (
          <Text size="sm" component="div">
            {t("nameservers")}{" "}
            {servers.map((server) => (
              <Copy key={server} value={server} />
            ))}
          </Text>
        )}
        {boot.client ? (
          <Text size="sm">{t("client")}</Text>
        ) : (
          <Group gap="sm">
            <Button size="compact-sm" type="button" variant="default" loading={busy} onClick={() => void look()}>
              {t("check")}
            </Button>
            <Text size="sm" role="status">
              {/* Before somebody asks, it is no news that the record is not there. */}
              {claim && (asked !== null || claim.state !== "unverified") && <Found claim={claim} />}
            </Text>
          </Group>
        )}
        <ErrorNote error={error} />
      </Stack>
    </Alert>
  );
}

function Found({ claim }: { claim: Claim }) {
  if (claim.cleared) return t("found");
  if (claim.state !== "contested")
    return (
      <>
        {t("not_found")} {t("next")} <When time={claim.next_check_at} form="relative" />
      </>
    );
  if (!claim.takes_at) return t("contested_open");
  return (
    <>
      {t("contested")} <When time={claim.takes_at} form="relative" />
    </>
  );
}
