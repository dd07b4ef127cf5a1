import { Card, Group, NativeSelect, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { money, month as named, percent } from "~/i18n/formats";
import { AnchorLink } from "~/ui/AnchorLink";
import { DataTable } from "~/ui/DataTable";
import { Load } from "~/ui/Load";
import { cause, duration } from "~/ui/outage/outage";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { uptime, type Uptime } from "./api";
import { monthBefore } from "./remedy";
import { t } from "./texts";

const share = (value: string | null) => (value === null ? "–" : percent(Number(value) / 100, 3));

/** A year of months, this one first. */
const months = () => Array.from({ length: 12 }, (_, back) => monthBefore(new Date(), back));

/** The uptime of a month beside what the plan promises, and what is given back. */
export function Sla({ service }: { service: number }) {
  const [month, setMonth] = useState(() => monthBefore(new Date(), 0));
  const query = useQuery(uptime(service, month));
  return (
    <section aria-labelledby="health-sla">
      <Group justify="space-between" align="flex-end" mb="sm">
        <div>
          <Title order={2} id="health-sla">
            {t("sla")}
          </Title>
          <Text c="dimmed">{t("sla.text")}</Text>
        </div>
        <NativeSelect
          label={t("sla.month")}
          value={month}
          data={months().map((value) => ({ value, label: named(value) }))}
          onChange={(event) => setMonth(event.currentTarget.value)}
        />
      </Group>
      <Load query={query}>{(data) => <Month month={data} />}</Load>
    </section>
  );
}

function Month({ month }: { month: Uptime }) {
  const kept =
    month.sla_percent !== null &&
    month.uptime_percent !== null &&
    Number(month.uptime_percent) >= Number(month.sla_percent);
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Card withBorder>
          <Text size="sm">{t("sla.uptime")}</Text>
          <Text fw={700} size="xl">
            {share(month.uptime_percent)}
          </Text>
          <Text size="sm" c="dimmed">
            {month.uptime_percent === null ? t("sla.unknown") : t("sla.downtime", { time: duration(month.downtime_s) })}
          </Text>
        </Card>
        <Card withBorder>
          <Text size="sm">{t("sla.promise")}</Text>
          <Text fw={700} size="xl">
            {share(month.sla_percent)}
          </Text>
          {month.sla_percent === null ? (
            <Text size="sm" c="dimmed">
              {t("sla.no_promise")}
            </Text>
          ) : (
            month.uptime_percent !== null && (
              <div>
                <Status tone={kept ? "good" : "bad"} label={t(kept ? "sla.kept" : "sla.broken")} />
              </div>
            )
          )}
        </Card>
        <Card withBorder>
          <Text size="sm">{t("sla.credit")}</Text>
          <Text fw={700} size="xl">
            {money(month.compensation.amount)}
          </Text>
          <Credit month={month} />
        </Card>
      </SimpleGrid>
      {month.excluded_maintenance_s > 0 && (
        <Text size="sm">{t("sla.maintenance", { time: duration(month.excluded_maintenance_s) })}</Text>
      )}
      {month.outages.length > 0 && (
        <>
          <DataTable
            caption={t("outages")}
            rows={month.outages}
            rowKey={(row) => row.started_at}
            columns={[
              { key: "from", label: t("column.from"), render: (row) => <When time={row.started_at} /> },
              {
                key: "lasted",
                label: t("column.lasted"),
                render: (row) =>
                  row.ended_at === null || row.duration_s === null ? (
                    <Status tone="bad" label={t("outage.on")} />
                  ) : (
                    duration(row.duration_s)
                  ),
              },
              { key: "cause", label: t("column.cause"), render: (row) => cause(row.cause) },
              { key: "counts", label: t("column.counts"), render: (row) => t(row.counts ? "counts" : "counts_not") },
            ]}
          />
          {month.outages_more > 0 && <Text size="sm">{t("outages.more", { count: month.outages_more })}</Text>}
        </>
      )}
    </Stack>
  );
}

function Credit({ month }: { month: Uptime }) {
  const { status, eligible, percent: part, reason } = month.compensation;
  if (status === "credited")
    return (
      <Text size="sm">
        <AnchorLink to="/wallet" search={{ type: "sla_credit" }}>
          {t("credit.credited")}
        </AnchorLink>
      </Text>
    );
  if (status === "rejected")
    return <Text size="sm">{reason === null ? t("credit.rejected") : t("credit.rejected_because", { reason })}</Text>;
  if (status === "proposed") return <Text size="sm">{t("credit.proposed")}</Text>;
  return (
    <Text size="sm" c="dimmed">
      {eligible ? t("credit.owed", { percent: percent(part / 100) }) : t("credit.none")}
    </Text>
  );
}
