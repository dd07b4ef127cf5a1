import { Button, Modal, Stack, Text } from "@mantine/core";
import {
  IconActivityHeartbeat,
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlus,
  IconTrash,
} from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { number } from "~/i18n/formats";
import { AnchorLink } from "~/ui/AnchorLink";
import { Confirm } from "~/ui/Confirm";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { IconAction } from "~/ui/IconAction";
import { Load } from "~/ui/Load";
import { done, failed } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { When } from "~/ui/When";

import { deleteMonitor, monitors, updateMonitor, type Monitor } from "./api";
import { Channels } from "./Channels";
import { uptime } from "./format";
import { MonitorFormDialog } from "./MonitorForm";
import { MonitorStatus } from "./status";
import { t } from "./texts";

export function MonitorList({ page = 1, onPage }: { page?: number; onPage: (page: number) => void }) {
  const query = useQuery(monitors(page));
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [form, setForm] = useState<Monitor | "new" | null>(null);
  const fresh = () => queries.invalidateQueries({ queryKey: ["monitors"] });
  const pause = async (monitor: Monitor) => {
    try {
      await updateMonitor(monitor.id, { paused: !monitor.paused });
      await fresh();
    } catch (error) {
      failed(error);
    }
  };
  const add = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setForm("new")}>
      {t("add")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} actions={add} />
      <Stack gap="xl">
        <Load query={query}>
          {({ data, meta }) =>
            data.length === 0 ? (
              <Empty icon={IconActivityHeartbeat} title={t("empty.title")} text={t("empty.text")} action={add} />
            ) : (
              <div>
                <DataTable
                  caption={t("title")}
                  rows={data}
                  rowKey={(row) => row.id}
                  columns={[
                    {
                      key: "name",
                      label: t("column.name"),
                      render: (row) => (
                        <Stack gap={2}>
                          <AnchorLink to="/monitors/$monitor" params={{ monitor: String(row.id) }} fw={600}>
                            {row.name}
                          </AnchorLink>
                          <Text size="sm" c="dimmed">
                            {t(`kind.${row.type}`)}
                            {row.built_in && ` · ${t("built_in")}`}
                          </Text>
                        </Stack>
                      ),
                    },
                    { key: "status", label: t("column.status"), render: (row) => <MonitorStatus monitor={row} /> },
                    {
                      key: "response",
                      label: t("column.response"),
                      right: true,
                      render: (row) =>
                        row.last_response_ms === null ? "–" : t("ms", { ms: number(row.last_response_ms) }),
                    },
                    {
                      key: "uptime",
                      label: t("column.uptime"),
                      right: true,
                      render: (row) => uptime(row.uptime["30d"]),
                    },
                    {
                      key: "checked",
                      label: t("column.checked"),
                      render: (row) =>
                        row.last_checked_at ? <When time={row.last_checked_at} form="relative" /> : t("never"),
                    },
                    {
                      key: "actions",
                      label: t("column.actions"),
                      actions: true,
                      render: (row) =>
                        !row.built_in && (
                          <>
                            <IconAction
                              icon={row.paused ? IconPlayerPlay : IconPlayerPause}
                              label={t(row.paused ? "resume" : "pause", { name: row.name })}
                              onClick={() => void pause(row)}
                            />
                            <IconAction
                              icon={IconPencil}
                              label={t("edit", { name: row.name })}
                              onClick={() => setForm(row)}
                            />
                            <Confirm
                              label={t("remove", { name: row.name })}
                              title={t("remove", { name: row.name })}
                              text={t("remove.text")}
                              action={async () => {
                                await deleteMonitor(row.id);
                                await fresh();
                                done(t("removed", { name: row.name }));
                              }}
                              icon={<IconTrash size={16} aria-hidden />}
                              size="compact-sm"
                              variant="subtle"
                            />
                          </>
                        ),
                    },
                  ]}
                />
                <Pager meta={meta} onChange={onPage} />
              </div>
            )
          }
        </Load>
        <Channels />
      </Stack>
      <Modal
        opened={form !== null}
        onClose={() => setForm(null)}
        title={form === "new" || form === null ? t("add") : t("edit", { name: form.name })}
        size="lg"
      >
        {form && (
          <MonitorFormDialog
            monitor={form === "new" ? null : form}
            onDone={async (made) => {
              setForm(null);
              await fresh();
              done(t(form === "new" ? "made" : "saved", { name: made.name }));
              if (form === "new") await navigate({ to: "/monitors/$monitor", params: { monitor: String(made.id) } });
            }}
          />
        )}
      </Modal>
    </>
  );
}
