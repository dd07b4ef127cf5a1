import { Button, Code, Group, List, Modal, Stack, Text, TextInput } from "@mantine/core";
import { IconChecks } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";
import { Filter } from "~/ui/staff/Filter";
import { Narrowed } from "~/ui/staff/Narrowed";
import { numberIn, oneIn, textIn, type StaffPage } from "~/ui/staff/page";
import { t as shared } from "~/ui/staff/texts";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import { cancelJob, job, jobs, jobStates, retryJob, type Job, type JobSearch } from "./api";
import { Queues } from "./Queues";
import { t } from "./texts";

const tones: Record<Job["state"], Tone> = {
  retryable: "warn",
  discarded: "bad",
  cancelled: "neutral",
  running: "busy",
  available: "neutral",
  scheduled: "neutral",
  pending: "neutral",
  completed: "good",
};

const failed = new Set<Job["state"]>(["retryable", "discarded", "cancelled"]);
const waiting = new Set<Job["state"]>(["available", "pending", "scheduled", "retryable"]);

/** Background jobs: those that have failed, or those in a state; why, when they are tried, and what staff can do about it. */
export function Jobs({ search: raw, onSearch }: StaffPage) {
  const search: JobSearch = {
    page: numberIn(raw.page),
    state: oneIn(raw.state, jobStates),
    kind: textIn(raw.kind),
    queue: textIn(raw.queue),
    min_attempts: numberIn(raw.min_attempts),
    request_id: textIn(raw.request_id),
  };
  const query = useQuery(jobs(search));
  const [shown, setShown] = useState<number | null>(null);
  return (
    <>
      <PageHeader title={t("jobs.title")} description={t("jobs.description")} />
      <Narrowed
        on={search.request_id !== undefined || search.min_attempts !== undefined}
        text={search.request_id && t("jobs.of_request", { request: search.request_id })}
        onAll={() => onSearch({})}
      />
      <Filters key={`${search.kind} ${search.queue}`} search={search} onSearch={onSearch} />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty
              icon={IconChecks}
              title={t(Object.values(search).some((one) => one !== undefined) ? "jobs.none.such" : "jobs.none")}
              text={t("jobs.none.text")}
            />
          ) : (
            <>
              <DataTable
                caption={t("jobs.title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  { key: "kind", label: t("jobs.kind"), render: (row) => <Code>{row.kind}</Code> },
                  { key: "arguments", label: t("jobs.arguments"), render: (row) => <Code>{row.arguments}</Code> },
                  { key: "state", label: shared("column.status"), render: (row) => <State job={row} /> },
                  { key: "error", label: t("jobs.error"), render: (row) => <Text size="sm">{row.error || "–"}</Text> },
                  {
                    key: "next",
                    label: t("jobs.next"),
                    render: (row) => (waiting.has(row.state) ? <When time={row.next_at} form="relative" /> : "–"),
                  },
                  {
                    key: "actions",
                    label: shared("column.actions"),
                    actions: true,
                    render: (row) => (
                      <Group gap="xs" justify="flex-end">
                        <Button size="compact-sm" variant="subtle" onClick={() => setShown(row.id)}>
                          {t("jobs.details")}
                          <span className="visually-hidden">: {row.kind}</span>
                        </Button>
                        <Acts job={row} />
                      </Group>
                    ),
                  },
                ]}
              />
              <Pager meta={meta} onChange={(page) => onSearch({ ...search, page })} />
            </>
          )
        }
      </Load>
      <Queues />
      <Modal opened={shown !== null} onClose={() => setShown(null)} title={t("jobs.details")} size="lg">
        {shown !== null && <Details id={shown} />}
      </Modal>
    </>
  );
}

function Filters({ search, onSearch }: { search: JobSearch; onSearch: StaffPage["onSearch"] }) {
  const [kind, setKind] = useState(search.kind ?? "");
  const [queue, setQueue] = useState(search.queue ?? "");
  const typed = { kind: kind.trim() || undefined, queue: queue.trim() || undefined };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSearch({ state: search.state, ...typed });
      }}
    >
      <Group align="flex-end" mb="md">
        <Filter
          label={shared("column.status")}
          value={search.state}
          options={jobStates.map((one) => [one, t(`job.${one}`)] as const)}
          all={t("jobs.failed")}
          onChange={(state) => onSearch({ state, ...typed })}
        />
        <TextInput label={t("jobs.kind")} value={kind} onChange={(event) => setKind(event.currentTarget.value)} />
        <TextInput label={t("jobs.queue")} value={queue} onChange={(event) => setQueue(event.currentTarget.value)} />
        <Button type="submit" variant="default">
          {t("jobs.filter")}
        </Button>
      </Group>
    </form>
  );
}

function State({ job: { state, attempt, max_attempts } }: { job: Job }) {
  return <Status tone={tones[state]} label={`${t(`job.${state}`)} (${attempt}/${max_attempts})`} />;
}

function Acts({ job: { id, kind, state } }: { job: Job }) {
  const changed = useChanged();
  return (
    <>
      {failed.has(state) && (
        <Act
          operation="staff.jobs.retry"
          label={t("jobs.retry")}
          size="compact-sm"
          text={t("jobs.retry.text", { kind })}
          act={async () => {
            await retryJob(id);
            await changed(t("jobs.retried"));
          }}
        />
      )}
      {(waiting.has(state) || state === "running") && (
        <Act
          operation="staff.jobs.cancel"
          label={t("jobs.cancel")}
          size="compact-sm"
          text={t(state === "running" ? "jobs.cancel.running" : "jobs.cancel.text", { kind })}
          reason="staff"
          danger
          act={async ({ reason }) => {
            await cancelJob(id, reason);
            await changed(t("jobs.cancelled"));
          }}
        />
      )}
    </>
  );
}

function Details({ id }: { id: number }) {
  const query = useQuery(job(id));
  return (
    <Load query={query}>
      {(one) => (
        <Stack gap="sm">
          <Group gap="xs">
            <Code>{one.kind}</Code>
            <State job={one} />
          </Group>
          <Code block>{one.arguments}</Code>
          <Text size="sm">
            {t("jobs.queue")}: <Code>{one.queue}</Code> · {shared("column.created")}: <When time={one.created_at} />
          </Text>
          <Text fw={600}>{t("jobs.failures")}</Text>
          {one.failures.length === 0 ? (
            <Text size="sm">{t("jobs.failures.none")}</Text>
          ) : (
            <List size="sm" spacing="xs" type="ordered" withPadding>
              {one.failures.map((failure) => (
                <List.Item key={failure.attempt}>
                  <When time={failure.at} />
                  <Code block style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
                    {failure.error}
                  </Code>
                </List.Item>
              ))}
            </List>
          )}
        </Stack>
      )}
    </Load>
  );
}
