import { Button, Card, Group, Modal, SegmentedControl, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconBulb } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { useAction } from "~/ui/action";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { Pager } from "~/ui/Pager";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import { audit, dismiss, insights, type Insight, type InsightStatus } from "./api";
import { t } from "./texts";

const tones: Record<Insight["severity"], Tone> = {
  critical: "bad",
  high: "bad",
  medium: "warn",
  low: "neutral",
  info: "neutral",
};
const shown: InsightStatus[] = ["open", "dismissed", "resolved"];

/** What could be better about the site, with the remedy. */
export function Insights({ service, onMend }: { service: number; onMend: (task: string) => void }) {
  const [status, setStatus] = useState<InsightStatus>("open");
  const [page, setPage] = useState(1);
  const query = useQuery(insights(service, status, page));
  const queries = useQueryClient();
  const [dismissing, setDismissing] = useState<Insight | null>(null);
  const changed = () => queries.invalidateQueries({ queryKey: ["service", service, "agent", "insights"] });
  const [look, { busy, error }] = useAction(async () => {
    const { pages, created, resolved } = await audit(service);
    done(t("audit.done", { pages: pages.length, created, resolved }));
    await changed();
  });
  return (
    <Stack>
      <Group justify="space-between">
        <SegmentedControl
          value={status}
          onChange={(next) => {
            setStatus(next as InsightStatus);
            setPage(1);
          }}
          data={shown.map((value) => ({ value, label: t(`insight.${value as "open"}`) }))}
        />
        <Button variant="light" loading={busy} onClick={() => void look()}>
          {t("audit")}
        </Button>
      </Group>
      {busy && (
        <Text size="sm" c="dimmed" role="status">
          {t("audit.busy")}
        </Text>
      )}
      <ErrorNote error={error} />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconBulb} title={t(`insights.none_${status as "open"}`)} text={t("insights.text")} />
          ) : (
            <>
              {data.map((insight) => (
                <Card key={insight.id} withBorder component="article">
                  <Stack gap="xs">
                    <Group justify="space-between" align="flex-start">
                      <Title order={2}>{insight.title}</Title>
                      <Status tone={tones[insight.severity]} label={t(`severity.${insight.severity}`)} />
                    </Group>
                    <Text size="sm">{insight.detail}</Text>
                    <Text size="sm">{insight.suggestion}</Text>
                    {insight.advice && (
                      <Text size="sm">
                        {t("insights.advice")} {insight.advice}
                      </Text>
                    )}
                    <Text size="sm" c="dimmed">
                      {insight.subject} · <When time={insight.last_seen_at} form="relative" />
                    </Text>
                    {insight.status === "open" && (
                      <Group gap="sm">
                        {insight.fix_prompt !== null && (
                          <Button size="xs" onClick={() => onMend(insight.fix_prompt ?? "")}>
                            {t("mend")}
                          </Button>
                        )}
                        <Button size="xs" variant="default" onClick={() => setDismissing(insight)}>
                          {t("dismiss")}
                        </Button>
                      </Group>
                    )}
                    {insight.dismiss_reason && <Text size="sm">{insight.dismiss_reason}</Text>}
                  </Stack>
                </Card>
              ))}
              <Pager meta={meta} onChange={setPage} />
            </>
          )
        }
      </Load>
      <Modal opened={dismissing !== null} onClose={() => setDismissing(null)} title={t("dismiss")}>
        {dismissing && (
          <DismissForm
            service={service}
            insight={dismissing}
            onDone={async () => {
              setDismissing(null);
              await changed();
              done(t("dismissed"));
            }}
          />
        )}
      </Modal>
    </Stack>
  );
}

function DismissForm({ service, insight, onDone }: { service: number; insight: Insight; onDone: () => Promise<void> }) {
  const [reason, setReason] = useState("");
  const [submit, { busy, error }] = useAction(async () => {
    await dismiss(service, insight.id, reason.trim());
    await onDone();
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Stack>
        <Text>{insight.title}</Text>
        <Text size="sm" c="dimmed">
          {t("dismiss.text")}
        </Text>
        <TextInput
          label={t("dismiss.reason")}
          value={reason}
          maxLength={500}
          onChange={(event) => setReason(event.currentTarget.value)}
          data-autofocus
        />
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={busy}>
            {t("dismiss")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
