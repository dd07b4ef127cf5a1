import { Alert, Anchor, Group, Stack, Table, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { Copy } from "~/ui/Copy";
import { QR } from "~/ui/QR";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import type { Mailbox } from "./api";
import { t } from "./texts";
import { settingsText } from "./validate";

const checks = ["mx", "spf", "dkim", "dmarc", "ptr"] as const;

/** How a phone or a mail program uses the mailbox, and whether its domain's DNS lets mail come and go. */
export function Connect({ box, service, password }: { box: Mailbox; service: number; password?: string }) {
  const { client } = box;
  return (
    <Stack>
      {password && (
        <Alert color="green" variant="light" title={t("password.once")}>
          <Copy value={password} label={t("field.password")} />
        </Alert>
      )}
      {client === null ? (
        <Text role="status">{t("connect.wait")}</Text>
      ) : (
        <>
          <Group align="flex-start" gap="xl">
            <div>
              <Table variant="vertical" layout="auto" withTableBorder>
                <caption className="visually-hidden">{t("connect.title")}</caption>
                <Table.Tbody>
                  <Table.Tr>
                    <Table.Th scope="row">{t("connect.user")}</Table.Th>
                    <Table.Td>
                      <Copy value={client.username} />
                    </Table.Td>
                  </Table.Tr>
                  {(["imap", "pop3", "smtp"] as const).map((kind) => {
                    const server = client[kind];
                    return (
                      server && (
                        <Table.Tr key={kind}>
                          <Table.Th scope="row">{t(`connect.${kind}`)}</Table.Th>
                          <Table.Td>
                            <Copy value={server.host} /> {server.port}, {server.tls === "tls" ? "SSL/TLS" : "STARTTLS"}
                          </Table.Td>
                        </Table.Tr>
                      )
                    );
                  })}
                </Table.Tbody>
              </Table>
              <Text size="sm" c="dimmed" mt="xs">
                {t("connect.auto")}
              </Text>
            </div>
            <Stack gap={4} align="center">
              <QR text={settingsText(box.address, client)} label={t("connect.qr")} />
              <Text size="xs" c="dimmed" maw={200} ta="center">
                {t("connect.qr")}
              </Text>
            </Stack>
          </Group>
        </>
      )}
      {box.dns && (
        <div>
          <Group gap="sm">
            <Title order={2} size="h4">
              {t("dns.title")}
            </Title>
            {box.dns.checked_at && (
              <Text size="sm" c="dimmed">
                <When time={box.dns.checked_at} form="relative" />
              </Text>
            )}
          </Group>
          <Stack gap="sm" mt="xs">
            {checks.map((check) => {
              const finding = box.dns?.[check];
              if (!finding) return null;
              return (
                <div key={check}>
                  <Group gap="xs">
                    <Status
                      tone={finding.ok ? "good" : finding.found === null ? "neutral" : "warn"}
                      label={check.toUpperCase()}
                    />
                    <Text size="sm">
                      {finding.ok
                        ? t(`dns.${check}.ok`)
                        : finding.found === null
                          ? t("dns.silent")
                          : t(`dns.${check}.wrong`)}
                    </Text>
                  </Group>
                  {!finding.ok && (
                    <Stack gap={2} mt={4}>
                      <Text size="sm" component="div">
                        {t("dns.expected")} <Copy value={finding.expected} label={check.toUpperCase()} />
                      </Text>
                      <Text size="sm" c="dimmed">
                        {t("dns.found")} {finding.found?.length ? finding.found.join("; ") : t("dns.nothing")}
                      </Text>
                    </Stack>
                  )}
                </div>
              );
            })}
            <Anchor component={Link} to={`/services/${service}/dns`} size="sm">
              {t("dns.link")}
            </Anchor>
          </Stack>
        </div>
      )}
    </Stack>
  );
}
