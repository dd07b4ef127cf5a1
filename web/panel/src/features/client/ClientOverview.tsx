import { Anchor, Button, Card, Stack, Text, Title } from "@mantine/core";

import { leave } from "~/api/leave";
import type { Boot } from "~/app/boot";
import { AnchorLink } from "~/ui/AnchorLink";
import { refused } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Usage } from "~/ui/usage/Usage";
import { When } from "~/ui/When";

import { t } from "./texts";

const meters = ["disk_mb", "databases", "mailboxes", "domains"] as const;

/** The first page of a reseller's client: their site, until when they may stay, and their passwords. */
export function ClientOverview({ client }: { client: NonNullable<Boot["client"]> }) {
  const end = async () => {
    if (!(await leave("/client/leave", "/client/panel/"))) refused(t("leave.failed"));
  };
  return (
    <>
      <PageHeader
        title={client.name || t("title")}
        description={
          <>
            {t("until")} <When time={client.until} form="relative" />
          </>
        }
        actions={
          <Button variant="default" onClick={() => void end()}>
            {t("leave")}
          </Button>
        }
      />
      <Stack>
        {client.domain && (
          <Card withBorder>
            <Title order={2}>{t("domain")}</Title>
            <Anchor href={`http://${client.domain}/`} target="_blank" rel="noreferrer">
              {client.domain}
            </Anchor>
          </Card>
        )}
        <Card withBorder>
          <Title order={2}>{t("passwords")}</Title>
          <Text>
            {t("passwords.text")}{" "}
            <AnchorLink to="/services/$service/passwords" params={{ service: String(client.service) }}>
              {t("passwords")}
            </AnchorLink>
          </Text>
        </Card>
        <Usage service={client.service} meters={meters} />
      </Stack>
    </>
  );
}
