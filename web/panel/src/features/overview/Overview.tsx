import { Alert, Anchor, Button, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconCircleCheck } from "@tabler/icons-react";
import { useQueries, useQuery, type UseQueryOptions } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { boot, isOn } from "~/app/boot";
import { money } from "~/i18n/formats";
import { AnchorLink } from "~/ui/AnchorLink";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { SectionCard } from "~/ui/SectionCard";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import {
  certificates,
  domains,
  insights,
  lookedInto,
  notifications,
  overviewServices,
  unpaid,
  usage,
  wallet,
  type Certificate,
  type Insight,
  type Service,
  type Usage,
} from "./api";
import { needs, type Need } from "./needs";
import { t } from "./texts";

/** What needs the reader: money for renewals, faults, news, and their services. */
export function Overview() {
  return (
    <>
      <PageHeader
        title={t("title", { name: boot.account?.name || boot.account?.email || "" })}
        actions={
          isOn("orders") && (
            <Button component={Link} to="/order">
              {t("order.new")}
            </Button>
          )
        }
      />
      <Stack>
        {boot.account && !boot.account.verified && (
          <Alert color="orange" title={t("unverified")}>
            {t("unverified.text", { email: boot.account.email })}{" "}
            <AnchorLink to="/account/profile">{t("profile")}</AnchorLink>
          </Alert>
        )}
        <Needs />
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Wallet />
          <News />
        </SimpleGrid>
        <Services />
      </Stack>
    </>
  );
}

const near = 14 * 24 * 3600 * 1000;

/** The answers of one query for each service, by its id. What a server does not have is left out. */
function useOfEach<T>(services: Service[], query: (id: number) => unknown, on: boolean): Map<number, T> {
  return useQueries({
    queries: services.map((one) => ({
      ...(query(one.id) as UseQueryOptions<T>),
      enabled: on,
      retry: false,
      retryOnMount: false,
    })),
    combine: (results) =>
      new Map(
        results.flatMap((result, at) => {
          const id = services[at]?.id;
          return id !== undefined && result.data !== undefined ? [[id, result.data] as const] : [];
        }),
      ),
  });
}

/** What needs the reader. */
function useNeeds(): Need[] {
  const [soon] = useState(() => new Date(Date.now() + near));
  const list = useQuery({ ...overviewServices, enabled: isOn("services") });
  const balance = useQuery({ ...wallet, enabled: isOn("wallet") });
  const orders = useQuery({ ...unpaid, enabled: isOn("orders") });
  const names = useQuery({ ...domains, enabled: isOn("domains") });
  const services = list.data?.data ?? [];
  const active = lookedInto(services);
  const managed = isOn("service_management");
  const used = useOfEach<Usage>(active, usage, managed);
  const certified = useOfEach<{ data: Certificate[] }>(active, certificates, managed);
  const found = useOfEach<{ data: Insight[] }>(active, insights, isOn("ai"));
  return needs(
    {
      orders: orders.data?.data ?? [],
      wallet: balance.data,
      services,
      domains: names.data?.data ?? [],
      usage: used,
      certificates: new Map([...certified].map(([id, answer]) => [id, answer.data])),
      insights: new Map([...found].map(([id, answer]) => [id, answer.data])),
    },
    soon,
    money,
  );
}

function Needs() {
  const all = useNeeds();
  const list = useQuery({ ...overviewServices, enabled: isOn("services") });
  if (all.length === 0) {
    return !list.data || list.data.data.length === 0 ? null : (
      <Group gap="xs">
        <IconCircleCheck size={20} color="var(--status-good)" aria-hidden />
        <Text>{t("needs.none")}</Text>
      </Group>
    );
  }
  return (
    <SectionCard id="overview-needs" title={t("needs")}>
      <Stack gap="xs">
        {all.map((need) => (
          <Group key={need.key} gap="sm" wrap="nowrap" align="flex-start">
            <Status tone={need.tone} label={t(need.tone === "bad" ? "severity.critical" : "severity.warning")} />
            <Anchor component={Link} to={need.to} style={{ overflowWrap: "anywhere" }}>
              {t(need.text, need.values)} {need.time && <When time={need.time} form="day" />}
            </Anchor>
          </Group>
        ))}
      </Stack>
    </SectionCard>
  );
}

function Wallet() {
  const query = useQuery({ ...wallet, enabled: isOn("wallet") });
  if (!isOn("wallet")) return null;
  return (
    <SectionCard id="overview-wallet" title={t("wallet")}>
      <Load query={query}>
        {(data) => (
          <Stack gap={4}>
            <Text size="xl" fw={700}>
              {money(data.available)}
            </Text>
            <Text>{t("renewals", { amount: money(data.upcoming_renewals.next_30d) })}</Text>
            <div>
              <Status
                tone={data.upcoming_renewals.covered ? "good" : "warn"}
                label={t(data.upcoming_renewals.covered ? "covered" : "uncovered")}
              />
            </div>
            <Anchor component={Link} to="/wallet">
              {t("top_up")}
            </Anchor>
          </Stack>
        )}
      </Load>
    </SectionCard>
  );
}

const tones = { info: "neutral", warning: "warn", critical: "bad" } as const;

function News() {
  const query = useQuery(notifications);
  return (
    <SectionCard id="overview-news" title={t("news")}>
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
                    <Text size="sm" fw={one.read_at ? undefined : 600}>
                      {one.title}
                    </Text>
                    <Text size="xs" c="dimmed">
                      <When time={one.created_at} form="relative" />
                    </Text>
                  </div>
                </Group>
              ))}
              <Anchor component={Link} to="/notifications">
                {t("news.all")}
              </Anchor>
            </Stack>
          )
        }
      </Load>
    </SectionCard>
  );
}

function Services() {
  const query = useQuery(overviewServices);
  return (
    <SectionCard id="overview-services" title={t("services")}>
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
    </SectionCard>
  );
}
