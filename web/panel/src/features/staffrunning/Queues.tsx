import { Code, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { DataTable } from "~/ui/DataTable";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";
import { StaffLink } from "~/ui/staff/StaffLink";
import { t as shared } from "~/ui/staff/texts";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { pauseQueue, queues } from "./api";
import { t } from "./texts";

const known = ["default", "panel", "provision", "webhooks"] as const;
const isKnown = (name: string): name is (typeof known)[number] => known.some((one) => one === name);

/** The page of the queues that jobs stand in. */
export function QueuePage() {
  return (
    <>
      <PageHeader
        title={t("queues.title")}
        description={t("queues.description")}
        actions={<StaffLink to="jobs">{t("jobs.title")}</StaffLink>}
      />
      <QueueTable />
    </>
  );
}

/** The queues below the list of jobs. */
export function Queues() {
  return (
    <section aria-labelledby="queues">
      <Title order={2} id="queues" mt="xl" mb="sm">
        {t("queues.title")}
      </Title>
      <QueueTable />
    </section>
  );
}

/** What waits and runs in each queue, and whether it is paused. */
function QueueTable() {
  const query = useQuery(queues);
  const changed = useChanged();
  return (
    <Load query={query}>
      {({ data }) => (
        <DataTable
          caption={t("queues.title")}
          rows={data}
          rowKey={(row) => row.name}
          columns={[
            {
              key: "name",
              label: t("jobs.queue"),
              render: (row) => (
                <>
                  <Code>{row.name}</Code>
                  {isKnown(row.name) && (
                    <Text size="xs" c="dimmed">
                      {t(`queues.about.${row.name}`)}
                    </Text>
                  )}
                </>
              ),
            },
            {
              key: "state",
              label: shared("column.status"),
              render: (row) =>
                row.paused_at ? (
                  <>
                    <Status tone="warn" label={t("queues.paused")} /> <When time={row.paused_at} form="relative" />
                  </>
                ) : (
                  <Status tone="good" label={t("queues.works")} />
                ),
            },
            { key: "running", label: t("job.running"), render: (row) => row.running },
            { key: "waiting", label: t("queues.waiting"), render: (row) => row.waiting },
            {
              key: "actions",
              label: shared("column.actions"),
              actions: true,
              render: (row) => (
                <Act
                  operation={row.paused_at ? "staff.queues.resume" : "staff.queues.pause"}
                  label={t(row.paused_at ? "queues.resume" : "queues.pause", { queue: row.name })}
                  size="compact-sm"
                  text={t(row.paused_at ? "queues.resume.text" : "queues.pause.text")}
                  reason="staff"
                  danger={!row.paused_at}
                  act={async ({ reason }) => {
                    await pauseQueue(row.name, !row.paused_at, reason);
                    await changed(t(row.paused_at ? "queues.resumed" : "queues.was_paused"));
                  }}
                />
              ),
            },
          ]}
        />
      )}
    </Load>
  );
}
