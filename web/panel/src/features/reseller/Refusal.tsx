import { Alert } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";

import { ApiFailure } from "~/api/failure";
import { AnchorLink } from "~/ui/AnchorLink";
import { Refusal as ProofOrNote } from "~/ui/proof/Refusal";

import { checkClaim, type World } from "./api";
import { PlayMoney } from "./PlayMoney";
import { t } from "./texts";

/** Why something was not sold or paid, and the way on: money, a proof of the domain, or another name. */
export function Refusal({
  error,
  world,
  back,
  onProven,
}: {
  error: unknown;
  world: World;
  /** Path of the page to which topping up leads back. */
  back: string;
  /** Called when the domain is proven, and what was refused can be done. */
  onProven?: () => void;
}) {
  if (error instanceof ApiFailure && error.key === "insufficient_funds")
    return <Lacking title={error.message} world={world} back={back} />;
  return (
    <ProofOrNote
      error={error}
      text={(domain) => t("proof.text", { domain })}
      check={(domain) => checkClaim(world, domain)}
      onProven={onProven}
    />
  );
}

/** The wallet does not pay for it. */
export function Lacking({ title, cents, world, back }: { title: string; cents?: number; world: World; back: string }) {
  return (
    <Alert color="orange" role="alert" icon={<IconAlertTriangle aria-hidden />} title={title}>
      {world === "live" ? (
        <AnchorLink to="/wallet" search={{ amount: cents, back }}>
          {t("top_up")}
        </AnchorLink>
      ) : (
        <PlayMoney cents={cents} back={back} />
      )}
    </Alert>
  );
}
