import { Button, Card, Group, Stack, Text, Title } from "@mantine/core";
import { IconBulb } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { useAction } from "~/ui/action";
import { AnchorLink } from "~/ui/AnchorLink";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";

import { audit, insights } from "./api";
import { Severity } from "./status";
import { t } from "./texts";

/** How many stand here; all of them are on the agent's page. */
const most = 5;

/** What a visitor, or a search engine, would find better, with the remedy. */
export function Insights({ service }: { service: number }) {
  const query = useQuery(insights(service));
  const queries = useQueryClient();
  const [look, { busy, error }] = useAction(async () => {
    const { created, resolved } = await audit(service);
    await queries.invalidateQueries({ queryKey: ["service", service] });
    done(t("audited", { created, resolved }));
  });
  return (
    <section aria-labelledby="health-insights">
      <Group justify="space-between" mb="sm">
        <div>
          <Title order={2} id="health-insights">
            {t("insights")}
          </Title>
          <Text c="dimmed">{t("insights.text")}</Text>
        </div>
        <Button variant="light" loading={busy} onClick={() => void look()}>
          {t("audit")}
        </Button>
      </Group>
      <Stack>
        <ErrorNote error={error} />
        <Load query={query}>
          {({ data, meta }) =>
            data.length === 0 ? (
              <Empty icon={IconBulb} title={t("insights.none")} text={t("insights.none_text")} />
            ) : (
              <>
                {data.slice(0, most).map((insight) => (
                  <Card key={insight.id} withBorder component="article">
                    <Stack gap="xs">
                      <Group justify="space-between" align="flex-start">
                        <Title order={3} size="h5">
                          {insight.title}
                        </Title>
                        <Severity severity={insight.severity} />
                      </Group>
                      <Text size="sm">
                        {insight.detail}
                        {insight.subject && ` (${insight.subject})`}
                      </Text>
                      <Text size="sm">{insight.suggestion}</Text>
                      {insight.fix_prompt !== null && (
                        <Text size="sm">
                          <AnchorLink
                            to="/services/$service/agent"
                            params={{ service: String(service) }}
                            search={{ task: insight.fix_prompt }}
                          >
                            {t("agent")}
                          </AnchorLink>
                        </Text>
                      )}
                    </Stack>
                  </Card>
                ))}
                <Text>
                  <AnchorLink
                    to="/services/$service/agent"
                    params={{ service: String(service) }}
                    search={{ tab: "insights" }}
                  >
                    {t("insights.all", { count: meta.total })}
                  </AnchorLink>
                </Text>
              </>
            )
          }
        </Load>
      </Stack>
    </section>
  );
}
