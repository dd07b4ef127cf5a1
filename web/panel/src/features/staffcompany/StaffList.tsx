import { useQuery } from "@tanstack/react-query";

import { ApiFailure } from "~/api/failure";
import { DataTable } from "~/ui/DataTable";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Act } from "~/ui/staff/Act";
import { colleagues, me } from "~/ui/staff/api";
import { useChanged } from "~/ui/staff/changed";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { t as shared } from "~/ui/staff/texts";
import { Status } from "~/ui/Status";

import { accountOf, removeStaff, roles, setRole, type Role } from "./api";
import { t } from "./texts";

const choice = (present?: string) => ({
  label: t("staff.role"),
  initial: present,
  options: roles.map((one) => ({ value: one, label: `${t(`role.${one}`)}: ${t(`role.${one}.does`)}` })),
});

/** Who works here, and what each may do. */
export function StaffList() {
  const query = useQuery(colleagues);
  const own = useQuery(me).data?.id;
  const changed = useChanged();
  return (
    <>
      <PageHeader
        title={t("staff.title")}
        description={t("staff.description")}
        actions={
          <Act
            operation="staff.staff.set_role"
            label={t("staff.add")}
            text={t("staff.add.text")}
            fields={[{ name: "email", label: t("staff.email") }]}
            choice={choice()}
            act={async ({ fields, choice: role }) => {
              const found = await accountOf((fields.email ?? "").trim());
              if (!found) throw new ApiFailure(404, { error: "not_found", message: t("staff.unknown") });
              await setRole(found.id, role as Role);
              await changed(t("staff.added"));
            }}
          />
        }
      />
      <Load query={query}>
        {({ data }) => (
          <DataTable
            caption={t("staff.title")}
            rows={data}
            rowKey={(row) => row.id}
            columns={[
              {
                key: "name",
                label: t("staff.name"),
                render: (row) => <CustomerLink id={row.id} email={row.name || row.email} />,
              },
              { key: "email", label: t("staff.email"), render: (row) => row.email },
              { key: "role", label: t("staff.role"), render: (row) => t(`role.${row.role as Role}`) },
              {
                key: "factor",
                label: t("staff.second_factor"),
                render: (row) => (
                  <Status
                    tone={row.two_factor ? "good" : "warn"}
                    label={t(row.two_factor ? "staff.on" : "staff.off")}
                  />
                ),
              },
              {
                key: "actions",
                label: shared("column.actions"),
                actions: true,
                render: (row) =>
                  row.id !== own && (
                    <>
                      <Act
                        operation="staff.staff.set_role"
                        label={t("staff.change")}
                        size="compact-sm"
                        text={row.email}
                        choice={choice(row.role)}
                        act={async ({ choice: role }) => {
                          await setRole(row.id, role as Role);
                          await changed(t("staff.changed"));
                        }}
                      />
                      <Act
                        operation="staff.staff.remove"
                        label={t("staff.remove")}
                        size="compact-sm"
                        text={t("staff.remove.text", { email: row.email })}
                        danger
                        act={async () => {
                          await removeStaff(row.id);
                          await changed(t("staff.removed"));
                        }}
                      />
                    </>
                  ),
              },
            ]}
          />
        )}
      </Load>
    </>
  );
}
