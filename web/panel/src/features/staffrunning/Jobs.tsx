import { Code, Text } from "@mantine/core";
import { IconChecks } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";
import { numberIn, type StaffPage } from "~/ui/staff/page";
import { t as shared } from "~/ui/staff/texts";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { jobs, retryJob } from "./api";
import { t } from "./texts";

const tones = { retryable: "warn", discarded: "bad", cancelled: "neutral" } as const;

/** The jobs that have failed: why, when they are tried again, and the button to do it now. */
export function Jobs({ search, onSearch }: StaffPage) {
  const query = useQuery(jobs(numberIn(search.page) ?? 1));
  const changed = useChanged();
  return (
    <>
      <PageHeader title={t("jobs.title")} description={t("jobs.description")} />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconChecks} title={t("jobs.none")} text={t("jobs.none.text")} />
          ) : (
            <>
              <DataTable
                caption={t("jobs.title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  { key: "kind", label: t("jobs.kind"), render: (row) => <Code>{row.kind}</Code> },
                  { key: "arguments", label: t("jobs.arguments"), render: (row) => <Code>{row.arguments}</Code> },
                  {
                    key: "state",
                    label: shared("column.status"),
                    render: (row) => (
                      <Status
                        tone={tones[row.state]}
                        label={`${t(`job.${row.state}`)} (${row.attempt}/${row.max_attempts})`}
                      />
                    ),
                  },
                  { key: "error", label: t("jobs.error"), render: (row) => <Text size="sm">{row.error || "–"}</Text> },
                  {
                    key: "next",
                    label: t("jobs.next"),
                    render: (row) => (row.state === "retryable" ? <When time={row.next_at} form="relative" /> : "–"),
                  },
                  {
                    key: "actions",
                    label: shared("column.actions"),
                    actions: true,
                    render: (row) => (
                      <Act
                        operation="staff.jobs.retry"
                        label={t("jobs.retry")}
                        size="compact-sm"
                        text={t("jobs.retry.text", { kind: row.kind })}
                        act={async () => {
                          await retryJob(row.id);
                          await changed(t("jobs.retried"));
                        }}
                      />
                    ),
                  },
                ]}
              />
              <Pager meta={meta} onChange={(page) => onSearch({ page })} />
            </>
          )
        }
      </Load>
    </>
  );
}
