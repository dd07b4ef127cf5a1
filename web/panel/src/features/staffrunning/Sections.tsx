import { useQuery, useQueryClient } from "@tanstack/react-query";

import { DataTable } from "~/ui/DataTable";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Act } from "~/ui/staff/Act";
import { t as shared } from "~/ui/staff/texts";
import { Status } from "~/ui/Status";

import { sections, setSection } from "./api";
import { t } from "./texts";

/** The sections of the platform, switched on and off. */
export function Sections() {
  const query = useQuery(sections);
  const queries = useQueryClient();
  return (
    <>
      <PageHeader title={t("sections.title")} description={t("sections.description")} />
      <Load query={query}>
        {({ data }) => (
          <DataTable
            caption={t("sections.title")}
            rows={data}
            rowKey={(row) => row.key}
            columns={[
              { key: "title", label: t("sections.name"), render: (row) => row.title },
              {
                key: "state",
                label: shared("column.status"),
                render: ({ enabled }) => (
                  <Status tone={enabled ? "good" : "neutral"} label={t(enabled ? "sections.on" : "sections.off")} />
                ),
              },
              {
                key: "actions",
                label: shared("column.actions"),
                actions: true,
                render: ({ key, title, enabled }) => (
                  <Act
                    operation="staff.sections.set"
                    label={t(enabled ? "sections.disable" : "sections.enable")}
                    size="compact-sm"
                    text={t(enabled ? "sections.disable.text" : "sections.enable.text", { title })}
                    word={enabled ? key : undefined}
                    danger={enabled}
                    act={async () => {
                      await setSection(key, !enabled);
                      await queries.invalidateQueries({ queryKey: ["staff", "sections"] });
                      done(t("sections.done"));
                    }}
                  />
                ),
              },
            ]}
          />
        )}
      </Load>
    </>
  );
}
