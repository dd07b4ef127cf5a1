import { Button, Group, NativeSelect, Stack, Text } from "@mantine/core";
import { useQuery, type QueryKey, type UseQueryOptions } from "@tanstack/react-query";
import { useRef, useState, type ReactNode } from "react";

import { newKey } from "~/api/client";
import type { components } from "~/api/schema";
import { money } from "~/i18n/formats";

import { useAction } from "./action";
import { Load } from "./Load";
import { t } from "./texts";
import { When } from "./When";

type Quote = components["schemas"]["ServicesRenewal"];

interface Props<Key extends QueryKey> {
  service: { period_months: number; plan: { id: number } };
  /** What is sold, with the periods of each plan. */
  products: { plans: { id: number; prices: { period_months: number }[] }[] }[] | undefined;
  /** What a renewal for so many months costs, and until when it lasts. */
  quote: (months: number) => UseQueryOptions<Quote, Error, Quote, Key>;
  renew: (key: string, months: number, expectedCents: number) => Promise<unknown>;
  /** How a refusal is told. */
  refusal: (error: unknown) => ReactNode;
  onDone: () => Promise<void>;
}

/** Renews a service: for how long, until when, and for how much, all of which stands there before it is paid. */
export function RenewalForm<Key extends QueryKey>(props: Props<Key>) {
  const { service, products, quote: ask, renew, refusal, onDone } = props;
  const periods =
    products
      ?.flatMap((product) => product.plans)
      .find((plan) => plan.id === service.plan.id)
      ?.prices.map((price) => price.period_months) ?? [];
  const choices = [...new Set([service.period_months, ...periods])].sort((a, b) => a - b);
  const [months, setMonths] = useState(service.period_months);
  const quote = useQuery(ask(months));
  const key = useRef(newKey());
  const [run, { busy, error }] = useAction(async (expected: number) => {
    await renew(key.current, months, expected);
    await onDone();
  });
  const pay = async (expected: number) => {
    if (!(await run(expected))) void quote.refetch(); // the price may be another one now
  };
  return (
    <Stack>
      <NativeSelect
        label={t("renewal.period")}
        value={String(months)}
        data={choices.map((one) => ({ value: String(one), label: t("renewal.months", { count: one }) }))}
        onChange={(event) => {
          key.current = newKey();
          setMonths(Number(event.currentTarget.value));
        }}
        data-autofocus
      />
      <Load query={quote}>
        {(data) => (
          <Stack>
            <Text>
              {t("renewal.from")} <When time={data.starts_at} form="day" /> – <When time={data.expires_at} form="day" />
            </Text>
            {refusal(error)}
            <Group justify="flex-end">
              <Button loading={busy} onClick={() => void pay(data.total.usd_cents)}>
                {t("renewal.pay", { amount: money(data.total) })}
              </Button>
            </Group>
          </Stack>
        )}
      </Load>
    </Stack>
  );
}
