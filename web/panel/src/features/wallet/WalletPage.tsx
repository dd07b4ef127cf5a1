import {
  Alert,
  Anchor,
  Card,
  Grid,
  Group,
  NativeSelect,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { IconDownload, IconReceipt } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { AnchorLink } from "~/ui/AnchorLink";
import { money } from "~/i18n/formats";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { SectionCard } from "~/ui/SectionCard";
import { Status } from "~/ui/Status";
import { TopUp } from "~/ui/topup/TopUp";
import { TopupState } from "~/ui/topup/TopupState";
import { When } from "~/ui/When";

import { movements, movementsCsv, wallet, type Movement, type Wallet } from "./api";
import { BalanceChart } from "./BalanceChart";
import { AutoTopup, LowBalance, Methods } from "./Settings";
import { t } from "./texts";

export interface Search {
  page?: number;
  type?: string;
  from?: string;
  to?: string;
  /** Cents that somebody lacks, and the page to which the payment leads back. */
  amount?: number;
  back?: string;
  topup?: number;
}

export function WalletPage({ search, onSearch }: { search: Search; onSearch: (next: Search) => void }) {
  const query = useQuery(wallet);
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <Load query={query}>
        {(data) => (
          <Stack gap="lg">
            {search.topup && <TopupState id={search.topup} />}
            <Balance wallet={data} />
            <Grid gap="lg">
              <Grid.Col span={{ base: 12, md: 6 }}>
                <SectionCard id="wallet-topup" title={t("topup")} h="100%">
                  <TopUp cents={search.amount ?? 1000} back={search.back ?? "/wallet"} />
                </SectionCard>
              </Grid.Col>
              <Grid.Col span={{ base: 12, md: 6 }}>
                <Card withBorder h="100%">
                  <Stack gap="xl">
                    <AutoTopup wallet={data} />
                    <LowBalance wallet={data} />
                    <Methods />
                  </Stack>
                </Card>
              </Grid.Col>
            </Grid>
            <BalanceChart wallet={data} />
            <Movements search={search} onSearch={onSearch} />
          </Stack>
        )}
      </Load>
    </>
  );
}

function Balance({ wallet }: { wallet: Wallet }) {
  const { available, held, debt, upcoming_renewals: renewals } = wallet;
  return (
    <>
      {debt.usd_cents > 0 && (
        <Alert color="red" title={t("debt", { amount: money(debt) })}>
          {t("debt.text")}
        </Alert>
      )}
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Figure label={t("available")} value={money(available)} />
        <Figure label={t("held")} value={money(held)} hint={t("held.text")} />
        <Card withBorder>
          <Text size="sm">{t("renewals")}</Text>
          <Text fw={700} size="xl">
            {money(renewals.next_30d)}
          </Text>
          <div>
            <Status
              tone={renewals.covered ? "good" : "warn"}
              label={t(renewals.covered ? "renewals.covered" : "renewals.uncovered")}
            />
          </div>
        </Card>
      </SimpleGrid>
    </>
  );
}

function Figure({ label, value, hint }: { label: string; value: string; hint?: string }) {
  return (
    <Card withBorder>
      <Text size="sm">{label}</Text>
      <Text fw={700} size="xl">
        {value}
      </Text>
      {hint && (
        <Text size="sm" c="dimmed">
          {hint}
        </Text>
      )}
    </Card>
  );
}

const types = [
  "topup",
  "charge",
  "refund",
  "bonus",
  "adjustment",
  "sla_credit",
  "referral_reward",
  "chargeback",
  "reversal",
  "repayment",
] as const;

const named = (type: string) =>
  types.some((one) => one === type) ? t(`type.${type as (typeof types)[number]}`) : type;

function Movements({ search, onSearch }: { search: Search; onSearch: (next: Search) => void }) {
  const { page = 1, type, from, to } = search;
  const filter = { type, from, to };
  const query = useQuery(movements(page, filter));
  const filtered = Boolean(type ?? from ?? to);
  return (
    <section aria-labelledby="wallet-movements">
      <Group justify="space-between" mb="sm">
        <Title order={2} id="wallet-movements">
          {t("movements")}
        </Title>
        <Anchor href={movementsCsv(filter)} download>
          <Group gap={4}>
            <IconDownload size={16} aria-hidden />
            {t("csv")}
          </Group>
        </Anchor>
      </Group>
      <SimpleGrid cols={{ base: 1, sm: 3 }} mb="md">
        <NativeSelect
          label={t("filter.type")}
          value={type ?? ""}
          onChange={(event) => onSearch({ ...filter, type: event.currentTarget.value || undefined })}
          data={[{ value: "", label: t("filter.all") }, ...types.map((one) => ({ value: one, label: named(one) }))]}
        />
        <TextInput
          type="date"
          label={t("filter.from")}
          value={from ?? ""}
          max={to}
          onChange={(event) => onSearch({ ...filter, from: event.currentTarget.value || undefined })}
        />
        <TextInput
          type="date"
          label={t("filter.to")}
          value={to ?? ""}
          min={from}
          onChange={(event) => onSearch({ ...filter, to: event.currentTarget.value || undefined })}
        />
      </SimpleGrid>
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty
              icon={IconReceipt}
              title={t(filtered ? "none.filtered" : "none")}
              text={filtered ? undefined : t("none.text")}
            />
          ) : (
            <>
              <DataTable
                caption={t("movements")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  { key: "date", label: t("column.date"), render: (row) => <When time={row.created_at} /> },
                  { key: "type", label: t("column.type"), render: (row) => named(row.type) },
                  { key: "what", label: t("column.what"), render: (row) => <What movement={row} /> },
                  {
                    key: "amount",
                    label: t("column.amount"),
                    right: true,
                    render: (row) => (
                      <Text span inherit c={row.amount.usd_cents > 0 ? "var(--status-good)" : undefined}>
                        {row.amount.usd_cents > 0 && "+"}
                        {money(row.amount)}
                      </Text>
                    ),
                  },
                  {
                    key: "balance",
                    label: t("column.balance"),
                    right: true,
                    render: (row) => money(row.balance_after),
                  },
                ]}
              />
              <Pager meta={meta} onChange={(next) => onSearch({ ...filter, page: next })} />
            </>
          )
        }
      </Load>
    </section>
  );
}

function What({ movement }: { movement: Movement }) {
  const { type, id } = movement.reference;
  if (type !== "order") return movement.description;
  return (
    <AnchorLink to="/orders/$order" params={{ order: String(id) }}>
      {movement.description}
    </AnchorLink>
  );
}
