import { Button, Checkbox, Group, Radio, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { newKey } from "~/api/client";
import { boot } from "~/app/boot";
import { money } from "~/i18n/formats";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";

import { centsOf, dollars, feeOf } from "./amount";
import { gatewaysOf, ownTill, type Gateway, type Till } from "./api";
import { t } from "./texts";

const usd = (cents: number) => money({ amount: cents, currency: "USD" });

interface Wish {
  cents: number;
  back: string;
  /** Whether the amount is what somebody lacks, and cannot be changed. */
  fixed?: boolean;
}

/** Puts money into the wallet: it leads to the payment page, which leads back to `back`, a path of the panel. */
export function TopUp({ till = ownTill, ...form }: Wish & { till?: Till }) {
  const query = useQuery(gatewaysOf(till));
  return (
    <Load query={query}>
      {({ data }) => {
        const open = data.filter((one) => one.enabled);
        return open.length === 0 ? <Text>{t("none")}</Text> : <Form {...form} open={open} till={till} />;
      }}
    </Load>
  );
}

function Form({ open, till, cents, back, fixed }: Wish & { open: Gateway[]; till: Till }) {
  const [key, setKey] = useState(open[0]?.key ?? "");
  const gateway = open.find((one) => one.key === key) ?? open[0];
  const [typed, setTyped] = useState(dollars(Math.max(cents, gateway?.min.usd_cents ?? 0)));
  const [save, setSave] = useState(false);
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const intent = useRef({ of: "", key: "" });
  if (!gateway) return null;
  const min = gateway.min.usd_cents;
  const max = gateway.max.usd_cents;
  const amount = fixed ? Math.max(cents, min) : centsOf(typed);
  const good = amount !== null && amount >= min && amount <= max;
  const bounds = { min: usd(min), max: usd(max) };
  const fee = good ? feeOf(amount, gateway) : 0;
  const submit = async () => {
    setShown(true);
    if (!good) return;
    setBusy(true);
    setError(null);
    // The same wish sent twice makes one top-up.
    const wish = `${gateway.key} ${amount} ${save}`;
    if (intent.current.of !== wish) intent.current = { of: wish, key: newKey() };
    try {
      const made = await till.create(intent.current.key, {
        amount_usd_cents: amount,
        gateway: gateway.key,
        return_url: location.origin + boot.base + back,
        ...(gateway.saves_methods && save ? { save_method: true } : {}),
      });
      location.assign(made.checkout_url);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        event.stopPropagation(); // React's events leave a dialog for a form around its button
        void submit();
      }}
    >
      <Stack>
        {!fixed && (
          <TextInput
            label={t("amount")}
            description={t("amount.between", bounds)}
            inputMode="decimal"
            autoComplete="off"
            leftSection="$"
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            onBlur={() => setShown(true)}
            error={shown && !good ? t("amount.bad", bounds) : undefined}
            maw={320}
          />
        )}
        <Radio.Group label={t("gateway")} value={gateway.key} onChange={setKey}>
          <Stack gap="xs" mt={4}>
            {open.map((one) => (
              <Radio key={one.key} value={one.key} label={one.name} />
            ))}
          </Stack>
        </Radio.Group>
        {gateway.saves_methods && (
          <Checkbox label={t("save")} checked={save} onChange={(event) => setSave(event.currentTarget.checked)} />
        )}
        {fee > 0 && (
          <Text size="sm" c="dimmed">
            {t("fee", { fee: usd(fee), name: gateway.name })}
          </Text>
        )}
        <ErrorNote error={error} />
        <Group>
          <Button type="submit" loading={busy}>
            {t("go", { amount: usd((amount ?? 0) + fee) })}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
