import { Alert, Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { boot } from "~/app/boot";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";

import { pending, settings } from "./api";
import { Conversation } from "./Conversation";
import { Insights } from "./Insights";
import { SettingsForm } from "./SettingsForm";
import { t } from "./texts";

export type Tab = "conversation" | "insights" | "settings";

export interface View {
  tab?: Tab;
  conversation?: number;
  /** A task that waits in the field, to be read before it is sent. */
  task?: string;
}

/** The AI agent of a service: ask it, watch it, decide, take back. */
export function Agent({ service, view, onView }: { service: number; view: View; onView: (view: View) => void }) {
  const query = useQuery({ ...settings(), enabled: !boot.client });
  const { data: approvals } = useQuery({ ...pending(service), enabled: query.data?.enabled ?? false });
  if (boot.client) {
    return (
      <>
        <PageHeader title={t("title")} />
        <Alert color="blue" title={t("client")} />
      </>
    );
  }
  const waiting = approvals?.meta.total ?? 0;
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <Load query={query}>
        {(current) => (
          <Tabs
            value={view.tab ?? "conversation"}
            onChange={(tab) => onView({ ...view, tab: tab as Tab })}
            keepMounted={false}
          >
            <Tabs.List mb="md">
              <Tabs.Tab value="conversation">
                {waiting > 0 ? t("tab.waiting", { count: waiting }) : t("tab.conversation")}
              </Tabs.Tab>
              <Tabs.Tab value="insights">{t("tab.insights")}</Tabs.Tab>
              <Tabs.Tab value="settings">{t("tab.settings")}</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="conversation">
              {current.enabled ? (
                <Conversation
                  service={service}
                  settings={current}
                  id={view.conversation ?? null}
                  task={view.task ?? ""}
                  onOpen={(conversation) => onView({ conversation: conversation ?? undefined })}
                />
              ) : (
                <SettingsForm settings={current} intro />
              )}
            </Tabs.Panel>
            <Tabs.Panel value="insights">
              <Insights service={service} onMend={(task) => onView({ task })} />
            </Tabs.Panel>
            <Tabs.Panel value="settings">
              <SettingsForm settings={current} />
            </Tabs.Panel>
          </Tabs>
        )}
      </Load>
    </>
  );
}
