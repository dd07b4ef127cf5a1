import { Alert, Anchor, Card, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { boot } from "~/app/boot";
import { money } from "~/i18n/formats";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { notifications, overviewServices, wallet } from "./api";
import { t } from "./texts";

/** What needs the reader: money for renewals, news, and their services. */
export function Overview() {
  return (
    <>
      <PageHeader title={t("title", { name: boot.account?.name || boot.account?.email || "" })} />
      <Stack>
        {boot.account && !boot.account.verified && (
          <Alert color="orange" title={t("unverified")}>
            {t("unverified.text", { email: boot.account.email })}{" "}
            <Anchor href="/account/profile">{t("profile")}</Anchor>
          </Alert>
        )}
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Wallet />
          <News />
        </SimpleGrid>
        <Services />
      </Stack>
    </>
  );
}

function Wallet() {
  const query = useQuery(wallet);
  return (
    <Card withBorder component="section" aria-labelledby="overview-wallet">
      <Title order={2} id="overview-wallet" mb="sm">
        {t("wallet")}
      </Title>
      <Load query={query}>
        {(data) => (
          <Stack gap={4}>
            <Text size="xl" fw={700}>
              {money(data.available)}
            </Text>
            <Text>{t("renewals", { amount: money(data.upcoming_renewals.next_30d) })}</Text>
            {data.upcoming_renewals.covered ? (
              <div>
                <Status tone="good" label={t("covered")} />
              </div>
            ) : (
              <div>
                <Status tone="warn" label={t("uncovered")} />
              </div>
            )}
          </Stack>
        )}
      </Load>
    </Card>
  );
}

const tones = { info: "neutral", warning: "warn", critical: "bad" } as const;

function News() {
  const query = useQuery(notifications);
  return (
    <Card withBorder component="section" aria-labelledby="overview-news">
      <Title order={2} id="overview-news" mb="sm">
        {t("news")}
      </Title>
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed">{t("news.none")}</Text>
          ) : (
            <Stack gap="xs">
              {data.map((one) => (
                <Group key={one.id} gap="sm" wrap="nowrap" align="flex-start">
                  <Status tone={tones[one.severity]} label={t(`severity.${one.severity}`)} />
                  <div>
                    <Text size="sm">{one.title}</Text>
                    <Text size="xs" c="dimmed">
                      <When time={one.created_at} form="relative" />
                    </Text>
                  </div>
                </Group>
              ))}
            </Stack>
          )
        }
      </Load>
    </Card>
  );
}

function Services() {
  const query = useQuery(overviewServices);
  return (
    <Card withBorder component="section" aria-labelledby="overview-services">
      <Title order={2} id="overview-services" mb="sm">
        {t("services")}
      </Title>
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text>
              {t("services.none")}{" "}
              <Anchor component={Link} to="/order">
                {t("order")}
              </Anchor>
            </Text>
          ) : (
            <Stack gap="xs">
              {data.map((one) => (
                <Group key={one.id} justify="space-between">
                  <Anchor component={Link} to={`/services/${one.id}`}>
                    {one.unicode_domain ?? one.label}
                  </Anchor>
                  <Text size="sm" c="dimmed">
                    {one.plan.name}
                  </Text>
                </Group>
              ))}
            </Stack>
          )
        }
      </Load>
    </Card>
  );
}
