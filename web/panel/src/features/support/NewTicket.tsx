import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { TicketForm, type Draft } from "~/ui/ticket/TicketForm";

import { t } from "./texts";

export function NewTicket({ draft }: { draft: Draft }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (
    <>
      <PageHeader title={t("new")} description={t("new.text")} />
      <TicketForm
        draft={draft}
        onDone={async (made) => {
          await queries.invalidateQueries({ queryKey: ["tickets"] });
          done(t("new.done"));
          await navigate({ to: "/support/$ticket", params: { ticket: String(made.id) } });
        }}
      />
    </>
  );
}
