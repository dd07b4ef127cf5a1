import { ApiFailure } from "~/api/failure";
import { ErrorNote } from "~/ui/ErrorNote";
import type { DNSRecord } from "~/ui/RecordFields";

import { Proof, type ProofProps } from "./Proof";

interface Props extends Pick<ProofProps, "check"> {
  error: unknown;
  text?: (domain: string) => string;
  /** Called when the domain is proven, and what was refused can be done. */
  onProven?: () => unknown;
}

/** What a refusal says. One that asks for the proof of a domain shows the record that proves it. */
export function Refusal({ error, text, check, onProven }: Props) {
  if (!(error instanceof ApiFailure) || error.key !== "domain_verification_required")
    return <ErrorNote error={error} />;
  const { domain, record } = error.details as { domain: string; record: DNSRecord };
  return (
    <Proof
      key={domain}
      domain={domain}
      record={record}
      text={text?.(domain)}
      check={check}
      onLooked={(proven) => proven && onProven?.()}
    />
  );
}
