import {
  Alert,
  Button,
  Card,
  Code,
  Grid,
  Group,
  Modal,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  Title,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCircleCheck } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { moment, number } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { AnchorLink } from "~/ui/AnchorLink";
import { Confirm } from "~/ui/Confirm";
import { Copy } from "~/ui/Copy";
import { DataTable } from "~/ui/DataTable";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { cause, duration } from "~/ui/outage/outage";
import { PageHeader } from "~/ui/PageHeader";
import { SectionCard } from "~/ui/SectionCard";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { deleteMonitor, monitor, updateMonitor, type MonitorStory, type Outage } from "./api";
import { BadgeCard } from "./BadgeCard";
import { Chart } from "./Chart";
import { uptime } from "./format";
import { MonitorFormDialog } from "./MonitorForm";
import { ranges, type Range } from "./ranges";
import { MonitorStatus } from "./status";
import { t } from "./texts";

export function MonitorPage({ id, range, onRange }: { id: number; range: Range; onRange: (range: Range) => void }) {
  const query = useQuery({ ...monitor(id, range), placeholderData: (before) => before });
  return <Load query={query}>{(story) => <Story story={story} range={range} onRange={onRange} />}</Load>;
}

function Story({ story, range, onRange }: { story: MonitorStory; range: Range; onRange: (range: Range) => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [opened, { open, close }] = useDisclosure();
  const fresh = () => queries.invalidateQueries({ queryKey: ["monitors"] });
  const [pause, { busy, error }] = useAction(async () => {
    await updateMonitor(story.id, { paused: !story.paused });
    await fresh();
    done(t(story.paused ? "resumed" : "paused", { name: story.name }));
  });
  return (
    <>
      <PageHeader
        title={story.name}
        description={
          <>
            {t(`kind.${story.type}`)}
            {(story.url ?? story.host) && ` · ${story.url ?? story.host ?? ""}`}
          </>
        }
        aside={<MonitorStatus monitor={story} />}
        actions={
          !story.built_in && (
            <>
              <Button variant="default" onClick={open}>
                {t("edit.short")}
              </Button>
              <Button variant="default" loading={busy} onClick={() => void pause()}>
                {t(story.paused ? "resume.short" : "pause.short")}
              </Button>
              <Confirm
                label={t("remove.short")}
                title={t("remove", { name: story.name })}
                text={t("remove.text")}
                action={async () => {
                  await deleteMonitor(story.id);
                  await navigate({ to: "/monitors" });
                  await fresh();
                  done(t("removed", { name: story.name }));
                }}
              />
            </>
          )
        }
      />
      <Stack gap="lg">
        <ErrorNote error={error} />
        {story.push_url && (
          <Alert variant="light" title={t("push")}>
            <Stack gap="xs" align="flex-start">
              <Text size="sm">{t("push.text")}</Text>
              <Copy value={`curl -fsS "${story.push_url}/$?"`} label={t("push")} />
            </Stack>
          </Alert>
        )}
        {story.built_in && story.service_id !== null && (
          <Text size="sm" c="dimmed">
            {t("built_in.text")}{" "}
            <AnchorLink to="/services/$service" params={{ service: String(story.service_id) }}>
              {t("built_in.service")}
            </AnchorLink>
          </Text>
        )}
        <SimpleGrid cols={{ base: 2, sm: 4 }}>
          {ranges.map((one) => (
            <Card key={one} withBorder>
              <Text size="sm">{t("uptime_of", { range: t(`range.${one}`) })}</Text>
              <Text fw={700} size="lg">
                {uptime(story.uptime[one])}
              </Text>
            </Card>
          ))}
        </SimpleGrid>
        <Card withBorder component="section" aria-labelledby="monitor-chart">
          <Group justify="space-between" mb="md">
            <Title order={2} id="monitor-chart">
              {t("chart")}
            </Title>
            <SegmentedControl
              aria-label={t("range")}
              styles={{ label: { whiteSpace: "nowrap" } }}
              value={range}
              onChange={(next) => onRange(next as Range)}
              data={ranges.map((value) => ({ value, label: t(`range.${value}`) }))}
            />
          </Group>
          <Chart story={story} />
        </Card>
        <Outages list={story.outages} range={range} />
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: 6 }}>
            <Facts story={story} />
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 6 }}>
            <BadgeCard monitor={story} />
          </Grid.Col>
        </Grid>
        <Checks story={story} />
      </Stack>
      <Modal opened={opened} onClose={close} title={t("edit", { name: story.name })} size="lg">
        <MonitorFormDialog
          monitor={story}
          onDone={async (changed) => {
            close();
            await fresh();
            done(t("saved", { name: changed.name }));
          }}
        />
      </Modal>
    </>
  );
}

/** What happened: when, how long, why, and where it was seen. */
function Outages({ list, range }: { list: Outage[]; range: Range }) {
  return (
    <section aria-labelledby="monitor-outages">
      <Title order={2} id="monitor-outages" mb="sm">
        {t("outages")}
      </Title>
      {list.length === 0 ? (
        <Group gap="xs">
          <IconCircleCheck size={18} color="var(--status-good)" aria-hidden />
          <Text>{t("outages.none", { range: t(`range.${range}`) })}</Text>
        </Group>
      ) : (
        <DataTable
          caption={t("outages")}
          rows={list}
          rowKey={(row) => row.id}
          columns={[
            { key: "from", label: t("column.from"), render: (row) => <When time={row.started_at} /> },
            {
              key: "to",
              label: t("column.to"),
              render: (row) =>
                row.ended_at ? <When time={row.ended_at} /> : <Status tone="bad" label={t("outage.on")} />,
            },
            { key: "lasted", label: t("column.lasted"), render: (row) => duration(row.duration_s) },
            { key: "cause", label: t("column.cause"), render: (row) => cause(row.cause) },
            { key: "regions", label: t("column.regions"), render: (row) => row.regions.map(place).join(", ") || "–" },
          ]}
        />
      )}
    </section>
  );
}

const place = (region: string) => (region === "control" ? t("region.control") : region);

function Facts({ story }: { story: MonitorStory }) {
  const every = duration(story.interval_s);
  return (
    <SectionCard id="monitor-facts" title={t("facts")} h="100%">
      <Stack gap="xs">
        <Text size="sm">{t(story.type === "heartbeat" ? "facts.beat" : "facts.every", { time: every })}</Text>
        {story.type !== "heartbeat" && (
          <Text size="sm">{t("facts.retries", { count: story.retries, time: duration(story.retry_interval_s) })}</Text>
        )}
        {story.last_beat_at && (
          <Text size="sm">
            {t("facts.last_beat")} <When time={story.last_beat_at} />
          </Text>
        )}
        {story.ssl && (
          <Text size="sm">
            {t(story.ssl.valid ? "facts.ssl" : "facts.ssl_bad", {
              issuer: story.ssl.issuer,
              until: moment(story.ssl.expires_at),
            })}
          </Text>
        )}
        {story.domain_expires_at && (
          <Text size="sm">{t("facts.domain", { until: moment(story.domain_expires_at) })}</Text>
        )}
        {story.region_results.map((region) => (
          <Group key={region.region} gap="xs">
            <Text size="sm">{place(region.region)}</Text>
            <Status
              tone={!region.counts ? "neutral" : region.status === "up" ? "good" : "bad"}
              label={t(region.counts ? `status.${region.status}` : "region.mute")}
            />
            {region.response_ms !== null && (
              <Text size="sm" c="dimmed">
                {t("ms", { ms: number(region.response_ms) })}
              </Text>
            )}
          </Group>
        ))}
      </Stack>
    </SectionCard>
  );
}

function Checks({ story }: { story: MonitorStory }) {
  if (story.checks.length === 0) return null;
  return (
    <section aria-labelledby="monitor-checks">
      <Title order={2} id="monitor-checks" mb="sm">
        {t("checks")}
      </Title>
      <DataTable
        caption={t("checks")}
        rows={story.checks}
        rowKey={(row) => `${row.region}-${row.id}`}
        columns={[
          { key: "at", label: t("column.at"), render: (row) => <When time={row.checked_at} /> },
          { key: "region", label: t("column.regions"), render: (row) => place(row.region) },
          {
            key: "result",
            label: t("column.result"),
            render: (row) => (
              <Stack gap={2} align="flex-start">
                <Status tone={row.status === "up" ? "good" : "bad"} label={t(`status.${row.status}`)} />
                {row.error_key && <Text size="sm">{cause(row.error_key)}</Text>}
                {row.error && <Code>{row.error}</Code>}
              </Stack>
            ),
          },
          { key: "code", label: t("column.code"), right: true, render: (row) => row.http_status ?? "–" },
          {
            key: "ms",
            label: t("column.response"),
            right: true,
            render: (row) => (row.response_ms === null ? "–" : t("ms", { ms: number(row.response_ms) })),
          },
        ]}
      />
    </section>
  );
}
