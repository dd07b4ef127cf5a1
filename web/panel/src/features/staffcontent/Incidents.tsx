import { Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { inLang } from "~/i18n/formats";
import { DataTable } from "~/ui/DataTable";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";
import { t as shared } from "~/ui/staff/texts";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import {
  cancelMaintenance,
  impacts,
  incidents,
  maintenance,
  openIncident,
  schedule,
  stages,
  updateIncident,
  type Impact,
  type Stage,
} from "./api";
import { inEach, textsOf } from "./languages";
import { t } from "./texts";

const tones: Record<Stage, Tone> = { investigating: "bad", identified: "warn", monitoring: "busy", resolved: "good" };

/** What the status page says: incidents and maintenance. */
export function Incidents() {
  const changed = useChanged();
  return (
    <>
      <PageHeader
        title={t("incidents.title")}
        description={t("incidents.description")}
        actions={
          <>
            <Act
              operation="staff.incidents.open"
              label={t("incidents.open")}
              text={t("incidents.open.text")}
              choice={{
                label: t("incidents.impact"),
                options: impacts.map((one) => ({ value: one, label: t(`impact.${one}`) })),
              }}
              fields={[...inEach("title", t("incidents.name")), ...inEach("message", t("incidents.message"), "area")]}
              act={async ({ choice, fields }) => {
                await openIncident({
                  title: textsOf("title", fields),
                  message: textsOf("message", fields),
                  impact: choice as Impact,
                });
                await changed(t("incidents.opened"));
              }}
            />
            <Act
              operation="staff.maintenance.schedule"
              label={t("maintenance.new")}
              text={t("maintenance.new.text")}
              fields={[
                ...inEach("title", t("incidents.name")),
                { name: "from", label: t("maintenance.from"), type: "datetime-local" },
                { name: "to", label: t("maintenance.to"), type: "datetime-local" },
              ]}
              act={async ({ fields }) => {
                await schedule({
                  title: textsOf("title", fields),
                  starts_at: new Date(fields.from ?? "").toISOString(),
                  ends_at: new Date(fields.to ?? "").toISOString(),
                });
                await changed(t("maintenance.made"));
              }}
            />
          </>
        }
      />
      <Stack gap="xl">
        <IncidentTable changed={changed} />
        <MaintenanceTable changed={changed} />
      </Stack>
    </>
  );
}

interface Part {
  changed: (message: string) => Promise<void>;
}

function IncidentTable({ changed }: Part) {
  const query = useQuery(incidents);
  return (
    <Load query={query}>
      {({ data }) =>
        data.length === 0 ? (
          <Text c="dimmed">{t("incidents.none")}</Text>
        ) : (
          <DataTable
            caption={t("incidents.title")}
            rows={data}
            rowKey={(row) => row.id}
            columns={[
              { key: "title", label: t("incidents.name"), render: (row) => inLang(row.title) },
              { key: "impact", label: t("incidents.impact"), render: (row) => t(`impact.${row.impact as Impact}`) },
              {
                key: "status",
                label: shared("column.status"),
                render: ({ status }) => <Status tone={tones[status as Stage]} label={t(`stage.${status as Stage}`)} />,
              },
              { key: "began", label: t("incidents.began"), render: (row) => <When time={row.started_at} /> },
              {
                key: "actions",
                label: shared("column.actions"),
                actions: true,
                render: (row) =>
                  !row.resolved_at && (
                    <Act
                      operation="staff.incidents.update"
                      label={t("incidents.update")}
                      size="compact-sm"
                      text={inLang(row.title)}
                      choice={{
                        label: shared("column.status"),
                        initial: row.status,
                        options: stages.map((one) => ({ value: one, label: t(`stage.${one}`) })),
                      }}
                      fields={inEach("message", t("incidents.message"), "area")}
                      act={async ({ choice, fields }) => {
                        await updateIncident(row.id, {
                          status: choice as Stage,
                          message: textsOf("message", fields),
                        });
                        await changed(t("incidents.updated"));
                      }}
                    />
                  ),
              },
            ]}
          />
        )
      }
    </Load>
  );
}

function MaintenanceTable({ changed }: Part) {
  const query = useQuery(maintenance);
  return (
    <section aria-labelledby="maintenance">
      <Title order={2} id="maintenance" mb="sm">
        {t("maintenance.title")}
      </Title>
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed">{t("maintenance.none")}</Text>
          ) : (
            <DataTable
              caption={t("maintenance.title")}
              rows={data}
              rowKey={(row) => row.id}
              columns={[
                { key: "title", label: t("incidents.name"), render: (row) => inLang(row.title) },
                {
                  key: "when",
                  label: t("maintenance.when"),
                  render: (row) => (
                    <Group gap={4}>
                      <When time={row.starts_at} /> – <When time={row.ends_at} />
                    </Group>
                  ),
                },
                {
                  key: "actions",
                  label: shared("column.actions"),
                  actions: true,
                  render: (row) =>
                    !row.cancelled_at && (
                      <Act
                        operation="staff.maintenance.cancel"
                        label={t("maintenance.cancel")}
                        size="compact-sm"
                        text={t("maintenance.cancel.text", { title: inLang(row.title) })}
                        danger
                        act={async () => {
                          await cancelMaintenance(row.id);
                          await changed(t("maintenance.cancelled"));
                        }}
                      />
                    ),
                },
              ]}
            />
          )
        }
      </Load>
    </section>
  );
}
