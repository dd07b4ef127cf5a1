import { Card, Progress, SimpleGrid, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { megabytes, number } from "~/i18n/formats";

import { Load } from "../Load";
import { usage } from "./api";
import { t } from "./texts";

type Meter = "disk_mb" | "bandwidth_gb" | "sites" | "domains" | "databases" | "mailboxes" | "cron_jobs";

const amount = (meter: Meter, value: number) =>
  meter === "disk_mb" ? megabytes(value) : meter === "bandwidth_gb" ? megabytes(value * 1024) : number(value);

/** What a service uses of what its plan grants, of the given meters. */
export function Usage({ service, meters }: { service: number; meters: readonly Meter[] }) {
  const query = useQuery(usage(service));
  return (
    <Card withBorder>
      <Title order={2} mb="sm">
        {t("title")}
      </Title>
      <Load query={query} skeleton={null}>
        {(data) => (
          <SimpleGrid cols={{ base: 1, xs: 2, md: meters.length % 3 === 0 ? 3 : 4 }}>
            {meters.map((meter) => {
              const { used, limit, percent } = data[meter];
              return (
                <div key={meter}>
                  <Text size="sm">{t(`meter.${meter}`)}</Text>
                  <Text fw={600}>
                    {used === null ? "–" : amount(meter, used)}
                    <Text span c="dimmed" fw={400}>
                      {" "}
                      / {limit < 0 ? "∞" : amount(meter, limit)}
                    </Text>
                  </Text>
                  {percent !== null && (
                    <Progress
                      value={Math.min(percent, 100)}
                      color={percent >= 90 ? "red" : percent >= 75 ? "orange" : "brand"}
                      aria-label={t(`meter.${meter}`)}
                    />
                  )}
                </div>
              );
            })}
          </SimpleGrid>
        )}
      </Load>
    </Card>
  );
}
