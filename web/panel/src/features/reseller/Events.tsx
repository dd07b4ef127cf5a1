import { Button, Code, Drawer, Group, NativeSelect, Stack, Text, Title } from "@mantine/core";
import { IconWebhook } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { number } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { cause } from "~/ui/outage/outage";
import { Pager } from "~/ui/Pager";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import { event, events, redeliver, type Delivery, type World } from "./api";
import { AddEndpoint, Endpoints } from "./Endpoints";
import { Frame } from "./Frame";
import { t } from "./texts";

const groups = ["service.*", "order.*", "wallet.*", "domain.*", "api_key.*", "webhook.*"];

/** What happened, where it was sent, and what was answered. */
export function Events({ world, onWorld }: { world: World; onWorld: (world: World) => void }) {
  const [type, setType] = useState("");
  const [page, setPage] = useState(1);
  const [shown, setShown] = useState<string | null>(null);
  const query = useQuery(events(world, type, page));
  return (
    <Frame page="/reseller/events" world={world} onWorld={onWorld}>
      <Stack gap="xl">
        <section aria-labelledby="reseller-endpoints">
          <Title order={2} id="reseller-endpoints" mb="sm">
            {t("endpoints")}
          </Title>
          <Stack>
            <Endpoints key={world} world={world} />
            <AddEndpoint key={world} world={world} />
          </Stack>
        </section>
        <section aria-labelledby="reseller-events">
          <Group justify="space-between" align="flex-end" mb="sm">
            <Title order={2} id="reseller-events">
              {t("events")}
            </Title>
            <NativeSelect
              label={t("events.type")}
              value={type}
              data={[{ value: "", label: t("filter.all") }, ...groups]}
              onChange={(change) => {
                setType(change.currentTarget.value);
                setPage(1);
              }}
            />
          </Group>
          <Load query={query}>
            {({ data, meta }) =>
              data.length === 0 ? (
                <Empty icon={IconWebhook} title={t("events.none")} text={t("events.none_text")} />
              ) : (
                <>
                  <DataTable
                    caption={t("events")}
                    rows={data}
                    rowKey={(row) => row.id}
                    columns={[
                      { key: "at", label: t("column.at"), render: (row) => <When time={row.created_at} /> },
                      { key: "type", label: t("events.type"), render: (row) => <Code>{row.type}</Code> },
                      { key: "client", label: t("column.client"), render: (row) => row.client_ref ?? "–" },
                      {
                        key: "delivered",
                        label: t("events.delivered"),
                        render: (row) => (
                          <Status
                            tone={row.delivered ? "good" : "neutral"}
                            label={t(row.delivered ? "delivered" : "delivered_not")}
                          />
                        ),
                      },
                      {
                        key: "actions",
                        label: t("column.actions"),
                        actions: true,
                        render: (row) => (
                          <Button
                            size="compact-sm"
                            variant="light"
                            aria-label={t("events.show_one", { type: row.type })}
                            onClick={() => setShown(row.id)}
                          >
                            {t("events.show")}
                          </Button>
                        ),
                      },
                    ]}
                  />
                  <Pager meta={meta} onChange={setPage} />
                </>
              )
            }
          </Load>
        </section>
      </Stack>
      <Drawer opened={shown !== null} onClose={() => setShown(null)} position="right" size="lg" title={t("events.one")}>
        {shown && <One world={world} id={shown} />}
      </Drawer>
    </Frame>
  );
}

const tones: Record<Delivery["status"], Tone> = {
  pending: "busy",
  sending: "busy",
  success: "good",
  retry: "warn",
  failed: "bad",
  discarded: "neutral",
};

/** One event: what is sent, each attempt with its answer, and sending it again. */
function One({ world, id }: { world: World; id: string }) {
  const query = useQuery(event(world, id));
  const queries = useQueryClient();
  const [again, { busy, error }] = useAction(async () => {
    await redeliver(world, id);
    await queries.invalidateQueries({ queryKey: ["reseller", world] });
    done(t("redelivered"));
  });
  return (
    <Load query={query}>
      {(data) => (
        <Stack>
          <Group justify="space-between">
            <Code>{data.type}</Code>
            <Button size="compact-sm" loading={busy} onClick={() => void again()}>
              {t("redeliver")}
            </Button>
          </Group>
          <ErrorNote error={error} />
          <Title order={3} size="h5">
            {t("deliveries")}
          </Title>
          {data.deliveries.length === 0 && <Text size="sm">{t("deliveries.none")}</Text>}
          {data.deliveries.map((one) => (
            <Stack key={one.id} gap={4} align="flex-start">
              <Group gap="xs">
                <Status tone={tones[one.status]} label={t(`delivery.${one.status}`)} />
                <Text size="sm">
                  {one.http_status ?? (one.error_key ? cause(one.error_key) : "")}
                  {one.duration_ms !== null && ` · ${t("ms", { ms: number(one.duration_ms) })}`}
                </Text>
                <Text size="sm" c="dimmed">
                  <When time={one.next_attempt_at ?? one.created_at} />
                </Text>
              </Group>
              {one.response_excerpt && <Code block>{one.response_excerpt}</Code>}
            </Stack>
          ))}
          <Title order={3} size="h5">
            {t("events.body")}
          </Title>
          <Code block>{JSON.stringify(data.body, null, 2)}</Code>
        </Stack>
      )}
    </Load>
  );
}
