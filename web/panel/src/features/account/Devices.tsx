import { Code } from "@mantine/core";
import { IconDeviceMobile } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { Confirm } from "~/ui/Confirm";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { devices, removeDevice, type Device } from "./api";
import { t } from "./texts";

const nameOf = (device: Device) => device.name || t(`devices.platform.${device.platform}`);

/** Where notifications are pushed to. */
export function Devices() {
  const query = useQuery(devices);
  const queries = useQueryClient();
  return (
    <>
      <PageHeader title={t("devices.title")} description={t("devices.description")} />
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={IconDeviceMobile} title={t("devices.empty")} text={t("devices.empty.text")} />
          ) : (
            <DataTable
              caption={t("devices.title")}
              rows={data}
              rowKey={(row) => row.id}
              columns={[
                { key: "name", label: t("devices.name"), render: nameOf },
                {
                  key: "platform",
                  label: t("devices.platform"),
                  render: (row) => t(`devices.platform.${row.platform}`),
                },
                {
                  key: "version",
                  label: t("devices.version"),
                  render: (row) => (row.app_version ? <Code>{row.app_version}</Code> : "–"),
                },
                {
                  key: "state",
                  label: t("devices.state"),
                  render: (row) =>
                    row.reachable ? (
                      <Status tone="good" label={t("devices.reachable")} />
                    ) : (
                      <Status tone="neutral" label={t("devices.unreachable")} />
                    ),
                },
                {
                  key: "seen",
                  label: t("devices.seen"),
                  render: (row) => <When time={row.last_seen_at} form="relative" />,
                },
                {
                  key: "actions",
                  label: t("devices.actions"),
                  actions: true,
                  render: (row) => (
                    <Confirm
                      label={t("devices.remove", { name: nameOf(row) })}
                      title={t("devices.remove", { name: nameOf(row) })}
                      text={t("devices.remove.text")}
                      icon={t("remove")}
                      size="compact-sm"
                      action={async () => {
                        await removeDevice(row.id);
                        await queries.invalidateQueries({ queryKey: ["devices"] });
                        done(t("devices.removed", { name: nameOf(row) }));
                      }}
                    />
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
