import { Anchor, Button, Card, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import type { Boot } from "~/app/boot";
import { megabytes, number } from "~/i18n/formats";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { When } from "~/ui/When";

import { t } from "./texts";

const meters = ["disk_mb", "databases", "mailboxes", "domains"] as const;

/** The first page of a reseller's client: their site, until when they may stay, and their passwords. */
export function ClientOverview({ client }: { client: NonNullable<Boot["client"]> }) {
  const usage = useQuery({
    queryKey: ["service", client.service, "usage"],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/services/{service}/usage", { params: { path: { service: client.service } }, signal })),
  });
  const shown = (meter: (typeof meters)[number], value: number) =>
    meter === "disk_mb" ? megabytes(value) : number(value);
  const leave = async () => {
    await fetch("/client/leave", { method: "POST" });
    location.assign("/client/panel/");
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
          <Button variant="default" onClick={() => void leave()}>
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
            {t("passwords.text")} <Anchor href="/client">{t("passwords")}</Anchor>
          </Text>
        </Card>
        <Card withBorder>
          <Title order={2} mb="sm">
            {t("usage")}
          </Title>
          <Load query={usage}>
            {(data) => (
              <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
                {meters.map((meter) => {
                  const { used, limit } = data[meter];
                  return (
                    <div key={meter}>
                      <Text size="sm">{t(`meter.${meter}`)}</Text>
                      <Text fw={600}>
                        {used === null
                          ? "–"
                          : limit < 0
                            ? t("unlimited", { used: shown(meter, used) })
                            : t("limit", { used: shown(meter, used), limit: shown(meter, limit) })}
                      </Text>
                    </div>
                  );
                })}
              </SimpleGrid>
            )}
          </Load>
        </Card>
      </Stack>
    </>
  );
}
