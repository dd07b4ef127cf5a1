import { Code, SegmentedControl, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconChartBar } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { bytes, date, number } from "~/i18n/formats";
import { AnchorLink } from "~/ui/AnchorLink";
import { Bars } from "~/ui/Bars";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Figure } from "~/ui/Figure";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { SectionCard } from "~/ui/SectionCard";

import { statistics, type Statistics as Data } from "./api";
import { answers, periods, ranges, total, type Period, type Range } from "./periods";
import classes from "./Statistics.module.css";
import { t } from "./texts";

/** A chart has no more bars than a phone can show. */
const mostBars = 60;

/** The visits and the traffic of a service. */
export function Statistics({ service, days, onDays }: { service: number; days: Range; onDays: (days: Range) => void }) {
  const query = useQuery(statistics(service, days));
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <SegmentedControl
        className={classes.ranges}
        mb="md"
        aria-label={t("range")}
        value={String(days)}
        onChange={(value) => onDays(Number(value) as Range)}
        data={ranges.map((value) => ({ value: String(value), label: t(`range.${value}`) }))}
      />
      <Load query={query}>
        {(data) =>
          data.days.every(({ requests }) => requests === 0) ? (
            <Empty icon={IconChartBar} title={t("empty.title")} text={t("empty.text")} />
          ) : (
            <Counted service={service} data={data} />
          )
        }
      </Load>
    </>
  );
}

function Counted({ service, data }: { service: number; data: Data }) {
  const all = total(data.days);
  const bars = periods(data.days, mostBars);
  return (
    <Stack>
      <SimpleGrid cols={{ base: 2, md: 4 }}>
        <Figure label={t("visitors")} value={number(all.visitors)} note={t("visitors.note")} />
        <Figure label={t("views")} value={number(all.views)} />
        <Figure label={t("traffic")} value={bytes(all.bytes)} />
        <Figure label={t("bots")} value={number(all.bots)} note={t("bots.note")} />
      </SimpleGrid>
      <SectionCard id="views" title={t("chart.views")}>
        <Bars
          title={t("chart.views")}
          bars={bars.map((one) => ({
            key: one.from,
            value: one.views,
            label: t("bar.views", { when: when(one), views: number(one.views), visitors: number(one.visitors) }),
          }))}
        />
      </SectionCard>
      <SectionCard id="traffic" title={t("chart.traffic")}>
        <Bars
          title={t("chart.traffic")}
          bars={bars.map((one) => ({
            key: one.from,
            value: one.bytes,
            label: t("bar.traffic", { when: when(one), traffic: bytes(one.bytes) }),
          }))}
        />
      </SectionCard>
      <SectionCard id="pages" title={t("pages")}>
        {data.pages.length === 0 ? (
          <Text c="dimmed">{t("pages.none")}</Text>
        ) : (
          <DataTable
            caption={t("pages")}
            rows={data.pages}
            rowKey={(row) => row.path}
            columns={[
              { key: "path", label: t("page"), render: (row) => <Code>{row.path}</Code> },
              { key: "views", label: t("views"), right: true, render: (row) => number(row.views) },
            ]}
          />
        )}
      </SectionCard>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <SectionCard id="answers" title={t("answers")}>
          <Amounts
            of={answers(data.days).map(({ kind, count }) => ({ label: t(`answers.${kind}`), value: number(count) }))}
          />
          <AnchorLink to="/services/$service/logs" params={{ service: String(service) }} search={{ type: "error" }}>
            {t("answers.logs")}
          </AnchorLink>
        </SectionCard>
        <SectionCard id="disk" title={t("disk")}>
          {data.disk ? (
            <Amounts
              of={(["files", "databases", "mail"] as const).map((part) => ({
                label: t(`disk.${part}`),
                value: bytes(data.disk?.[part] ?? 0),
              }))}
            />
          ) : (
            <Text c="dimmed">{t("disk.unknown")}</Text>
          )}
        </SectionCard>
      </SimpleGrid>
    </Stack>
  );
}

const when = ({ from, to }: Period) => (from === to ? date(from) : t("days", { from: date(from), to: date(to) }));

function Amounts({ of }: { of: { label: string; value: string }[] }) {
  return (
    <dl className={classes.amounts}>
      {of.map(({ label, value }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
