import { Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { date, money } from "~/i18n/formats";
import { Bars } from "~/ui/Bars";
import { Load } from "~/ui/Load";
import { SectionCard } from "~/ui/SectionCard";

import { chartDays, recentMovements, type Wallet } from "./api";
import { balanceByDay } from "./balance";
import { t } from "./texts";

/** The balance at the end of each of the last days. */
export function BalanceChart({ wallet }: { wallet: Wallet }) {
  const query = useQuery(recentMovements);
  const [now] = useState(Date.now);
  return (
    <SectionCard id="wallet-chart" title={t("chart", { count: chartDays })}>
      <Load query={query}>
        {({ data, whole }) => {
          const days = balanceByDay(data, whole, wallet.available, chartDays, now);
          return (
            <>
              <Bars
                title={t("chart", { count: chartDays })}
                bars={days.map(({ day, balance }) => ({
                  key: day,
                  value: Math.max(0, balance.usd_cents),
                  label: t("chart.day", { day: date(day), amount: money(balance) }),
                }))}
              />
              <Group justify="space-between" mt={4} aria-hidden>
                {[days[0], days.at(-1)].map((one, at) => (
                  <Text key={at} size="xs" c="dimmed">
                    {one && date(one.day)}
                  </Text>
                ))}
              </Group>
            </>
          );
        }}
      </Load>
    </SectionCard>
  );
}
