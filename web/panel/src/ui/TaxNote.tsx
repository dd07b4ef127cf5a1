import { Text } from "@mantine/core";

import { money, type Money } from "~/i18n/formats";

import { t } from "./texts";

/** How much of a sum is tax that was added to prices; nothing where none was. */
export function TaxNote({ tax, name }: { tax: Money; name: string }) {
  if (tax.usd_cents <= 0) return null;
  return (
    <Text size="sm" c="dimmed">
      {t("tax.added", { amount: money(tax), name })}
    </Text>
  );
}
