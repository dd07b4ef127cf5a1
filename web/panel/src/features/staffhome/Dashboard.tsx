import { Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconCircleCheck } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import type { Schemas } from "~/api/staff";
import { date, number, percent } from "~/i18n/formats";
import { StaffLink } from "~/ui/staff/StaffLink";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { SectionCard } from "~/ui/SectionCard";
import { Search } from "~/ui/staff/Search";
import { usd } from "~/ui/staff/usd";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { dashboard, type Attention } from "./api";
import { Bars } from "~/ui/Bars";
import { Figure } from "~/ui/Figure";
import { cure, tone } from "./places";
import { t } from "./texts";

/** The morning's page: what is stuck, how sales go, what renews. */
export function Dashboard() {
  const query = useQuery(dashboard);
  const navigate = useNavigate();
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <Stack gap="lg">
        <Search
          label={t("search.label")}
          hint={t("search.hint")}
          initial=""
          onSearch={(q) => q && void navigate({ to: "/staff/$", params: { _splat: "search" }, search: { q } })}
        />
        <Load query={query}>
          {(data) => (
            <>
              <Attentions all={data.needs_attention} />
              <Figures data={data} />
              <SimpleGrid cols={{ base: 1, md: 2 }}>
                <Sales days={data.sales} />
                <Renewals days={data.renewals} />
              </SimpleGrid>
            </>
          )}
        </Load>
      </Stack>
    </>
  );
}

function Attentions({ all }: { all: Attention[] }) {
  return (
    <SectionCard id="attention" title={t("attention")}>
      {all.length === 0 && (
        <Group gap="xs">
          <IconCircleCheck color="var(--status-good)" aria-hidden />
          <Text>{t("attention.none")}</Text>
        </Group>
      )}
      <Stack gap="xs" component="ul" m={0} p={0} style={{ listStyle: "none" }}>
        {all.map((one) => {
          const place = cure(one);
          const text = t(`attention.${one.kind}`, { count: one.count });
          return (
            <Group key={one.kind} component="li" justify="space-between" gap="xs">
              <Group gap="sm">
                <Status tone={tone(one.kind)} label={number(one.count)} />
                <StaffLink to={place.to} search={place.search}>
                  {text}
                </StaffLink>
              </Group>
              {one.since && (
                <Text size="sm" c="dimmed">
                  {t("attention.since")} <When time={one.since} form="relative" />
                </Text>
              )}
            </Group>
          );
        })}
      </Stack>
    </SectionCard>
  );
}

function Figures({ data }: { data: Schemas["AdminDashboard"] }) {
  const sold = data.sales.reduce((sum, one) => sum + one.sold_usd_cents - one.refunded_usd_cents, 0);
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }}>
      <Figure label={t("figure.sold")} value={usd(sold)} note={t("figure.30_days")} />
      <Figure
        label={t("figure.recurring")}
        value={usd(data.recurring_usd_cents_a_month)}
        note={t("figure.a_month", { count: data.active_services })}
      />
      <Figure
        label={t("figure.churn")}
        value={percent(data.churn_percent_30d / 100, 1)}
        note={t("figure.ended", { count: data.ended_services_30d })}
      />
      <Figure
        label={t("figure.customers")}
        value={<StaffLink to="customers">{number(data.customers)}</StaffLink>}
        note={t("figure.new", { count: data.new_customers_30d, wallets: usd(data.wallets_usd_cents) })}
      />
    </SimpleGrid>
  );
}

function Sales({ days }: { days: Schemas["AdminDayOfSales"][] }) {
  return (
    <SectionCard id="sales" title={t("sales")}>
      <Bars
        title={t("sales")}
        bars={days.map((one) => ({
          key: one.day,
          value: one.sold_usd_cents,
          bad: one.refunded_usd_cents,
          label: t("sales.day", {
            day: date(one.day),
            count: one.orders,
            sold: usd(one.sold_usd_cents),
            refunded: usd(one.refunded_usd_cents),
          }),
        }))}
      />
      <Text size="sm" c="dimmed" mt="xs">
        {t("sales.note")}
      </Text>
    </SectionCard>
  );
}

function Renewals({ days }: { days: Schemas["AdminDayRenewals"][] }) {
  const total = days.reduce((sum, one) => sum + one.services, 0);
  const uncovered = days.reduce((sum, one) => sum + one.uncovered, 0);
  return (
    <SectionCard id="renewals" title={t("renewals")}>
      <Bars
        title={t("renewals")}
        bars={days.map((one) => ({
          key: one.day,
          value: one.services,
          bad: one.uncovered,
          label: t("renewals.day", {
            day: date(one.day),
            count: one.services,
            amount: usd(one.amount_usd_cents),
            uncovered: one.uncovered,
          }),
        }))}
      />
      <Text size="sm" c="dimmed" mt="xs">
        {t("renewals.note", { count: total, uncovered })}
      </Text>
    </SectionCard>
  );
}
