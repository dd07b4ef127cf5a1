import { IconPuzzle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { number } from "~/i18n/formats";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { StaffLink } from "~/ui/staff/StaffLink";
import { t as shared } from "~/ui/staff/texts";
import { When } from "~/ui/When";

import { addons, makeAddon, refuseAddon } from "./api";
import { t } from "./texts";

/** The add-ons that somebody must set up by hand. */
export function Addons() {
  const query = useQuery(addons);
  const changed = useChanged();
  return (
    <>
      <PageHeader title={t("addons.title")} description={t("addons.description")} />
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={IconPuzzle} title={t("addons.none")} />
          ) : (
            <DataTable
              caption={t("addons.title")}
              rows={data}
              rowKey={(row) => row.id}
              columns={[
                {
                  key: "name",
                  label: t("addons.name"),
                  render: (row) => row.name + (row.quantity > 1 ? ` × ${number(row.quantity)}` : ""),
                },
                {
                  key: "service",
                  label: shared("column.service"),
                  render: (row) => <StaffLink to={`services/${row.service_id}`}>#{row.service_id}</StaffLink>,
                },
                {
                  key: "customer",
                  label: shared("column.customer"),
                  render: (row) => <CustomerLink id={row.account_id} />,
                },
                {
                  key: "since",
                  label: shared("column.created"),
                  render: (row) => <When time={row.created_at} form="relative" />,
                },
                {
                  key: "actions",
                  label: shared("column.actions"),
                  actions: true,
                  render: (row) => (
                    <>
                      <Act
                        operation="staff.addons.make"
                        label={t("addons.make")}
                        size="compact-sm"
                        text={t("addons.make.text", { name: row.name })}
                        fields={[
                          { name: "value", label: t("addons.value"), hint: t("addons.value.hint"), optional: true },
                        ]}
                        act={async ({ fields }) => {
                          await makeAddon(row.id, fields.value ?? "");
                          await changed(t("addons.made"));
                        }}
                      />
                      <Act
                        operation="staff.addons.refuse"
                        label={t("addons.refuse")}
                        size="compact-sm"
                        text={t("addons.refuse.text", { name: row.name })}
                        danger
                        act={async () => {
                          await refuseAddon(row.id);
                          await changed(t("addons.refused"));
                        }}
                      />
                    </>
                  ),
                },
              ]}
            />
          )
        }
      </Load>
    </>
  );
}
