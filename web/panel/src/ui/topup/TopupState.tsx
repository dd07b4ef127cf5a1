import { Alert, Anchor } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { money } from "~/i18n/formats";

import { topup } from "./api";
import { t } from "./texts";

/** What became of a top-up that led back here. Once the money has arrived, the wallet is read again. */
export function TopupState({ id }: { id: number }) {
  const queries = useQueryClient();
  const { data } = useQuery(topup(id));
  const status = data?.status;
  useEffect(() => {
    if (status === "succeeded")
      void queries.invalidateQueries({ queryKey: ["wallet"], predicate: (one) => one.queryKey[1] !== "topup" });
  }, [status, queries]);
  if (!data) return null;
  const amount = money(data.amount);
  switch (data.status) {
    case "pending":
    case "processing":
      return (
        <Alert color="blue" role="status" title={t("state.pending", { amount })}>
          {t("state.pending_text")} <Anchor href={data.checkout_url}>{t("open")}</Anchor>
        </Alert>
      );
    case "succeeded":
      return <Alert color="green" role="status" title={t("state.succeeded", { amount })} />;
    case "failed":
      return <Alert color="red" role="status" title={t("state.failed", { amount })} />;
    default:
      return <Alert color="orange" role="status" title={t("state.other", { amount })} />;
  }
}
