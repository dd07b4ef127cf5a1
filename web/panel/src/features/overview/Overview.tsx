import { Alert, Anchor, Button, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconCircleCheck } from "@tabler/icons-react";
import { useQueries, useQuery, type UseQueryOptions } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { ApiFailure } from "~/api/failure";
import { boot, isOn } from "~/app/boot";
import { money, number } from "~/i18n/formats";
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
  near,
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
import { lookedAt, needs, type Need } from "./needs";
import { t } from "./texts";

/** What needs the reader: money for renewals, faults, news, and their services. */
export function Overview() {
  return (
    <>
      <PageHeader
        title={t("title", { name: boot.account?.name || boot.account?.email || "" })}
        description={t("about")}
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

/** The answers of one query for each service, by its id. */
interface OfEach<T> {
  data: Map<number, T>;
  /** The services whose query failed. What a server does not have is no failure. */
  failed: Set<number>;
  pending: boolean;
}

const isMissing = (error: unknown) =>
  error instanceof ApiFailure && ["unsupported_operation", "section_disabled"].includes(error.key);

function useOfEach<T>(services: Service[], query: (id: number) => unknown, on: boolean): OfEach<T> {
  return useQueries({
    queries: services.map((one) => ({
      ...(query(one.id) as UseQueryOptions<T>),
      enabled: on,
      retry: false,
      retryOnMount: false,
    })),
    combine: (results) => {
      const of = results.flatMap((result, at) => (services[at] ? [{ id: services[at].id, ...result }] : []));
      return {
        data: new Map(of.flatMap(({ id, data }) => (data === undefined ? [] : [[id, data] as const]))),
        failed: new Set(of.flatMap(({ id, error }) => (error && !isMissing(error) ? [id] : []))),
        pending: of.some(({ isLoading }) => isLoading),
      };
    },
  });
}

interface Seen {
  all: Need[];
  /** Something is still being read. */
  pending: boolean;
  /** Something that is no service's could not be read. */
  failed: boolean;
  services: { seen: number; total: number };
}

/** What needs the reader, and how much was looked at to find it. */
function useNeeds(): Seen {
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
  const answered = (id: number) =>
    active.some((one) => one.id === id) && ![used, certified, found].some((each) => each.failed.has(id));
  const whole = [list, balance, orders, names];
  const all = needs(
    {
      orders: orders.data?.data ?? [],
      wallet: balance.data,
      services,
      domains: names.data?.data ?? [],
      usage: used.data,
      certificates: new Map([...certified.data].map(([id, answer]) => [id, answer.data])),
      insights: new Map([...found.data].map(([id, answer]) => [id, answer.data])),
    },
    soon,
    money,
  );
  return {
    all,
    pending: [...whole, used, certified, found].some((one) => ("pending" in one ? one.pending : one.isLoading)),
    failed: whole.some((one) => one.isError),
    services: { seen: lookedAt(services, answered), total: list.data?.meta.total ?? 0 },
  };
}

function Needs() {
  const { all, pending, failed, services } = useNeeds();
  const unseen = services.seen < services.total;
  if (all.length === 0 && pending) return null;
  if (all.length === 0 && !failed && !unseen) {
    return services.total === 0 ? null : (
      <Group gap="xs" wrap="nowrap">
        <IconCircleCheck size={20} color="var(--status-good)" style={{ flex: "none" }} aria-hidden />
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
        {failed && <Status tone="warn" label={t("needs.failed")} />}
        {unseen && !pending && (
          <Text size="sm">
            {t("needs.unseen", { seen: number(services.seen), total: number(services.total) })}{" "}
            <AnchorLink to="/services">{t("services.all")}</AnchorLink>
          </Text>
        )}
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
