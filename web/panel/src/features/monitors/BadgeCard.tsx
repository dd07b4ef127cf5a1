import { Card, Group, NativeSelect, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";

import { Copy } from "~/ui/Copy";

import type { MonitorStory } from "./api";
import { ranges } from "./ranges";
import { t } from "./texts";

const metrics = ["uptime", "response", "status", "tls"] as const;

/** The badge of a monitor, and what to paste into a page that shall show it. */
export function BadgeCard({ monitor }: { monitor: MonitorStory }) {
  const [metric, setMetric] = useState<(typeof metrics)[number]>("uptime");
  const [range, setRange] = useState<(typeof ranges)[number]>("30d");
  const url = `${monitor.badge_url}/${metric}/${range}`;
  const alt = `${monitor.name}: ${t(`badge.${metric}`)}`;
  return (
    <Card withBorder component="section" aria-labelledby="monitor-badge">
      <Title order={2} id="monitor-badge" mb={4}>
        {t("badge")}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {t("badge.text")}
      </Text>
      <Stack align="flex-start">
        <Group align="flex-end">
          <NativeSelect
            label={t("badge.metric")}
            value={metric}
            data={metrics.map((value) => ({ value, label: t(`badge.${value}`) }))}
            onChange={(event) => setMetric(event.currentTarget.value as typeof metric)}
          />
          <NativeSelect
            label={t("range")}
            value={range}
            data={ranges.map((value) => ({ value, label: t(`range.${value}`) }))}
            onChange={(event) => setRange(event.currentTarget.value as typeof range)}
          />
        </Group>
        <img src={new URL(url, location.href).pathname} alt={alt} height={20} />
        <Copy value={`[![${alt}](${url})](${monitor.url ?? url})`} label="Markdown" />
        <Copy value={`<img src="${url}" alt="${alt.replace(/[&"<>]/g, "")}">`} label="HTML" />
      </Stack>
    </Card>
  );
}
